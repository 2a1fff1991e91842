// Signs requests to the payment gateway. One file, standard library only, Go 1.19 or newer: copy it into your project and
// give it your package's name.
//
//	headers, err := SignedHeaders(key, "POST", "https://api.gateway.example/v1/payouts", body)
//
// Sign the exact bytes that you send: marshal the body once, sign those bytes, send those bytes.
package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Key is what `gateway key issue --json` prints.
type Key struct {
	AppID         string `json:"app_id"`
	KeyID         string `json:"key_id"`
	APIKey        string `json:"api_key"`
	SigningSecret string `json:"signing_secret"`
}

// Request is what is signed besides the key.
type Request struct {
	Method string `json:"method"`
	// Host is the Host header as it is sent, with the port if it has one.
	Host string `json:"host"`
	// Target is the path, and the query if there is one, exactly as they are sent.
	Target string `json:"target"`
	// Timestamp is Unix time in whole seconds.
	Timestamp string `json:"timestamp"`
	// Nonce is 16 to 64 characters of A-Z a-z 0-9 _ -, new for each request.
	Nonce string `json:"nonce"`
	Body  []byte `json:"body_base64"`
}

// SignedHeaders makes the four headers of one request. Call it again for each attempt: a nonce is taken once, and a timestamp
// lasts two minutes.
func SignedHeaders(key Key, method, address string, body []byte) (map[string]string, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	random := make([]byte, 16)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	request := Request{
		Method:    method,
		Host:      parsed.Host,
		Target:    parsed.RequestURI(),
		Timestamp: strconv.FormatInt(time.Now().Unix(), 10),
		Nonce:     hex.EncodeToString(random),
		Body:      body,
	}
	signature, err := Signature(key, request)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"X-Gateway-Key":       key.AppID + "." + key.KeyID + "." + key.APIKey,
		"X-Gateway-Timestamp": request.Timestamp,
		"X-Gateway-Nonce":     request.Nonce,
		"X-Gateway-Signature": signature,
	}, nil
}

// Signature is the value of X-Gateway-Signature.
func Signature(key Key, request Request) (string, error) {
	text, err := StringToSign(key, request)
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(key.SigningSecret))
	mac.Write([]byte(text))
	return "v1=" + hex.EncodeToString(mac.Sum(nil)), nil
}

// StringToSign is ten fields, joined by newlines, with none at the end. Print it when a signature is refused.
func StringToSign(key Key, request Request) (string, error) {
	method := strings.ToUpper(request.Method)
	path, query, _ := strings.Cut(request.Target, "?")
	canonical, err := CanonicalQuery(query)
	if err != nil {
		return "", err
	}
	body := request.Body
	if method == "GET" || method == "DELETE" {
		body = nil
	}
	hash := sha256.Sum256(body)
	return strings.Join([]string{
		"v1",
		key.AppID,
		key.KeyID,
		strings.ToLower(request.Host),
		method,
		path,
		canonical,
		request.Timestamp,
		request.Nonce,
		hex.EncodeToString(hash[:]),
	}, "\n"), nil
}

// CanonicalQuery has each name and value decoded and encoded again, sorted by name and then by value. A "+" is a plus and not a
// space.
func CanonicalQuery(query string) (string, error) {
	var pairs [][2]string
	for _, part := range strings.Split(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		encodedName, err := reencoded(name)
		if err != nil {
			return "", err
		}
		encodedValue, err := reencoded(value)
		if err != nil {
			return "", err
		}
		pairs = append(pairs, [2]string{encodedName, encodedValue})
	}
	sort.Slice(pairs, func(a, b int) bool {
		if pairs[a][0] != pairs[b][0] {
			return pairs[a][0] < pairs[b][0]
		}
		return pairs[a][1] < pairs[b][1]
	})
	parts := make([]string, len(pairs))
	for at, pair := range pairs {
		parts[at] = pair[0] + "=" + pair[1]
	}
	return strings.Join(parts, "&"), nil
}

func reencoded(text string) (string, error) {
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return "", err
	}
	if !utf8.ValidString(decoded) {
		return "", fmt.Errorf("%q is not UTF-8", text)
	}
	var encoded strings.Builder
	for _, char := range []byte(decoded) {
		if char < utf8.RuneSelf && strings.IndexByte(unreserved, char) >= 0 {
			encoded.WriteByte(char)
		} else {
			fmt.Fprintf(&encoded, "%%%02X", char)
		}
	}
	return encoded.String(), nil
}

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// One request a line as JSON on standard input, one signature a line on standard output.
func main() {
	input := bufio.NewReader(os.Stdin)
	for {
		line, end := input.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var given struct {
				Key
				Request
				Timestamp json.Number `json:"timestamp"`
			}
			err := json.Unmarshal([]byte(line), &given)
			var signature string
			if err == nil {
				given.Request.Timestamp = given.Timestamp.String()
				signature, err = Signature(given.Key, given.Request)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Println(signature)
		}
		if end == io.EOF {
			return
		}
	}
}
