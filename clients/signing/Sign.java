import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * Signs requests to the payment gateway. One file, no dependency, Java 17 or newer: copy it into your project.
 *
 * <pre>Map&lt;String, String&gt; headers = Sign.signedHeaders(key, "POST", "https://api.gateway.example/v1/payouts", body);</pre>
 *
 * Sign the exact bytes that you send: serialize the body once, sign those bytes, send those bytes.
 */
public final class Sign {
  /** What {@code gateway key issue --json} prints. */
  public record Key(String appId, String keyId, String apiKey, String signingSecret) {}

  /**
   * What is signed besides the key.
   *
   * @param host the Host header as it is sent, with the port if it has one
   * @param target the path, and the query if there is one, exactly as they are sent
   * @param timestamp Unix time in whole seconds
   * @param nonce 16 to 64 characters of A-Z a-z 0-9 _ -, new for each request
   */
  public record Request(String method, String host, String target, String timestamp, String nonce, byte[] body) {}

  /** The four headers of one request. Call it again for each attempt: a nonce is taken once, a timestamp lasts two minutes. */
  public static Map<String, String> signedHeaders(Key key, String method, String url, byte[] body) {
    URI address = URI.create(url);
    String path = address.getRawPath().isEmpty() ? "/" : address.getRawPath();
    String target = address.getRawQuery() == null ? path : path + "?" + address.getRawQuery();
    byte[] random = new byte[16];
    new SecureRandom().nextBytes(random);
    String timestamp = Long.toString(Instant.now().getEpochSecond());
    var request = new Request(method, address.getRawAuthority(), target, timestamp, hex(random), body);
    var headers = new LinkedHashMap<String, String>();
    headers.put("X-Gateway-Key", key.appId() + "." + key.keyId() + "." + key.apiKey());
    headers.put("X-Gateway-Timestamp", timestamp);
    headers.put("X-Gateway-Nonce", request.nonce());
    headers.put("X-Gateway-Signature", signature(key, request));
    return headers;
  }

  /** The value of X-Gateway-Signature. */
  public static String signature(Key key, Request request) {
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(key.signingSecret().getBytes(StandardCharsets.UTF_8), "HmacSHA256"));
      return "v1=" + hex(mac.doFinal(stringToSign(key, request).getBytes(StandardCharsets.UTF_8)));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Ten fields, joined by newlines, with none at the end. Print it when a signature is refused. */
  public static String stringToSign(Key key, Request request) {
    String method = request.method().toUpperCase(Locale.ROOT);
    int mark = request.target().indexOf('?');
    String path = mark < 0 ? request.target() : request.target().substring(0, mark);
    String query = mark < 0 ? "" : request.target().substring(mark + 1);
    byte[] body = method.equals("GET") || method.equals("DELETE") ? new byte[0] : request.body();
    return String.join(
        "\n",
        "v1",
        key.appId(),
        key.keyId(),
        request.host().toLowerCase(Locale.ROOT),
        method,
        path,
        canonicalQuery(query),
        request.timestamp(),
        request.nonce(),
        sha256(body));
  }

  /** Each name and value decoded and encoded again, sorted by name and then by value. A "+" is a plus and not a space. */
  public static String canonicalQuery(String query) {
    List<String[]> pairs = new ArrayList<>();
    for (String part : query.split("&")) {
      if (part.isEmpty()) continue;
      int equals = part.indexOf('=');
      String name = equals < 0 ? part : part.substring(0, equals);
      pairs.add(new String[] {reencoded(name), reencoded(equals < 0 ? "" : part.substring(equals + 1))});
    }
    pairs.sort(Comparator.<String[], String>comparing(pair -> pair[0]).thenComparing(pair -> pair[1]));
    return pairs.stream().map(pair -> pair[0] + "=" + pair[1]).collect(Collectors.joining("&"));
  }

  private static String reencoded(String text) {
    var encoded = new StringBuilder();
    for (byte octet : decoded(text)) {
      char plain = (char) (octet & 0xff);
      if (UNRESERVED.indexOf(plain) >= 0) encoded.append(plain);
      else encoded.append(String.format("%%%02X", octet));
    }
    return encoded.toString();
  }

  private static final String UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

  private static byte[] decoded(String text) {
    if (BAD_ESCAPE.matcher(text).find()) throw new IllegalArgumentException(text + " has a bad percent escape");
    var octets = new ByteArrayOutputStream();
    for (int at = 0; at < text.length(); at++) {
      if (text.charAt(at) == '%') {
        octets.write(Integer.parseInt(text.substring(at + 1, at + 3), 16));
        at += 2;
      } else octets.write(text.charAt(at));
    }
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(octets.toByteArray()));
    } catch (CharacterCodingException error) {
      throw new IllegalArgumentException(text + " is not UTF-8", error);
    }
    return octets.toByteArray();
  }

  private static final Pattern BAD_ESCAPE = Pattern.compile("%(?![0-9A-Fa-f]{2})|[^\\x00-\\x7f]");

  private static String sha256(byte[] bytes) {
    try {
      return hex(MessageDigest.getInstance("SHA-256").digest(bytes));
    } catch (GeneralSecurityException error) {
      throw new IllegalStateException(error);
    }
  }

  private static String hex(byte[] bytes) {
    var text = new StringBuilder();
    for (byte octet : bytes) text.append(String.format("%02x", octet));
    return text.toString();
  }

  /** One request a line as JSON on standard input, one signature a line on standard output. */
  public static void main(String[] arguments) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (line.isBlank()) continue;
      Map<String, String> given = texts(line);
      var key = new Key(given.get("app_id"), given.get("key_id"), given.get("api_key"), given.get("signing_secret"));
      byte[] body = Base64.getDecoder().decode(given.getOrDefault("body_base64", ""));
      var request =
          new Request(
              given.get("method"), given.get("host"), given.get("target"), given.get("timestamp"), given.get("nonce"), body);
      System.out.println(signature(key, request));
    }
  }

  /** The members of a flat JSON object whose values are texts or whole numbers. Java has no JSON of its own; use your library's in your code. */
  private static Map<String, String> texts(String json) {
    var members = new LinkedHashMap<String, String>();
    Matcher member = MEMBER.matcher(json);
    while (member.find()) {
      String text = member.group(2);
      members.put(unescaped(member.group(1)), text == null ? member.group(3) : unescaped(text));
    }
    return members;
  }

  private static final String TEXT = "\"((?:[^\"\\\\]|\\\\.)*+)\"";
  private static final Pattern MEMBER = Pattern.compile(TEXT + "\\s*:\\s*(?:" + TEXT + "|([0-9]+))");
  private static final Pattern ESCAPE = Pattern.compile("\\\\(?:u([0-9A-Fa-f]{4})|(.))");

  private static String unescaped(String text) {
    return ESCAPE
        .matcher(text)
        .replaceAll(
            found -> {
              if (found.group(1) != null)
                return Matcher.quoteReplacement(String.valueOf((char) Integer.parseInt(found.group(1), 16)));
              int at = "bfnrt".indexOf(found.group(2));
              return Matcher.quoteReplacement(at < 0 ? found.group(2) : String.valueOf("\b\f\n\r\t".charAt(at)));
            });
  }

  private Sign() {}
}
