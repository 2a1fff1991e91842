import { type CurlRequest, EXAMPLE_ORIGIN, signedCurl } from "./SignedCurl.ts"

/** One example of `x-codeSamples`. */
export interface Sample {
  readonly lang: string
  readonly label: string
  readonly source: string
}

/**
 * A signed request for a shell and for each language of `clients/signing`, whose file must be in the same folder, and for the
 * TypeScript client if it has a method for the operation.
 */
export const signedSamples = (request: CurlRequest): ReadonlyArray<Sample> => {
  const client = withClient(request)
  return [
    { lang: "shell", label: "curl", source: signedCurl(request) },
    { lang: "python", label: "Python", source: python(request) },
    { lang: "php", label: "PHP", source: php(request) },
    { lang: "typescript", label: "TypeScript", source: typescript(request) },
    ...(client === undefined ? [] : [{ lang: "typescript", label: "TypeScript client", source: client }]),
    { lang: "go", label: "Go", source: go(request) },
    { lang: "java", label: "Java", source: java(request) }
  ]
}

const bodyOf = ({ body }: CurlRequest): string => JSON.stringify(body, null, 2)

/** Where a language's signing file is served. */
const beside = (comment: string, file: string): string => `${comment} Beside it: ${EXAMPLE_ORIGIN}/docs/clients/signing/${file}`

/** The address as an expression: fixed parts as string literals, parameters from the environment. */
const address = (path: string, plus: string, read: (name: string) => string): string =>
  `${EXAMPLE_ORIGIN}${path}`
    .split(/\{(\w+)\}/)
    .flatMap((part, at) => (at % 2 === 1 ? [read(part.toUpperCase())] : part === "" ? [] : [`"${part}"`]))
    .join(plus)

const KEPT = "Keep it with your order: a retry sends the same one."

const python = (request: CurlRequest): string => {
  const { body, hasKey, headers, method, path } = request
  const names = Object.keys(headers)
  return [
    beside("#", "sign.py"),
    `import json, os, ${hasKey ? "secrets, " : ""}urllib.request`,
    "from sign import signed_headers",
    "",
    'key = json.load(open("key.json"))',
    `url = ${address(path, " + ", (name) => `os.environ["${name}"]`)}`,
    body === undefined ? 'body = b""' : `body = """${bodyOf(request)}""".encode()`,
    `headers = signed_headers(key, "${method}", url, body)`,
    ...(body === undefined ? [] : ['headers["Content-Type"] = "application/json"']),
    ...(hasKey ? [`# ${KEPT}`, 'headers["Idempotency-Key"] = secrets.token_hex(16)'] : []),
    ...names.map((name) => `headers["${name}"] = key["app_id"]`),
    `request = urllib.request.Request(url, body or None, headers, method="${method}")`,
    "try:",
    "    answer = urllib.request.urlopen(request, timeout=60)",
    "except urllib.error.HTTPError as refused:",
    "    answer = refused",
    "print(answer.read().decode())",
    ""
  ].join("\n")
}

const php = (request: CurlRequest): string => {
  const { body, hasKey, headers, method, path } = request
  return [
    "<?php",
    beside("//", "sign.php"),
    "require 'sign.php';",
    "",
    "$key = json_decode(file_get_contents('key.json'), true);",
    `$url = ${address(path, " . ", (name) => `getenv('${name}')`)};`,
    body === undefined ? "$body = '';" : `$body = <<<'JSON'\n${bodyOf(request)}\nJSON;`,
    `$headers = Gateway\\signedHeaders($key, '${method}', $url, $body);`,
    ...(body === undefined ? [] : ["$headers['Content-Type'] = 'application/json';"]),
    ...(hasKey ? [`// ${KEPT}`, "$headers['Idempotency-Key'] = bin2hex(random_bytes(16));"] : []),
    ...Object.keys(headers).map((name) => `$headers['${name}'] = $key['app_id'];`),
    '$lines = array_map(fn ($name) => "$name: $headers[$name]", array_keys($headers));',
    `$options = ['method' => '${method}', 'header' => $lines, 'content' => $body, 'ignore_errors' => true];`,
    "echo file_get_contents($url, false, stream_context_create(['http' => $options]));",
    ""
  ].join("\n")
}

const typescript = (request: CurlRequest): string => {
  const { body, hasKey, headers, method, path } = request
  const own = [
    ...(body === undefined ? [] : ['"Content-Type": "application/json"']),
    ...(hasKey ? ['"Idempotency-Key": idempotencyKey'] : []),
    ...Object.keys(headers).map((name) => `"${name}": key.app_id`)
  ]
  const signed = `signedHeaders(key, "${method}", url${body === undefined ? "" : ", body"})`
  return [
    beside("//", "sign.ts"),
    'import { readFileSync } from "node:fs"',
    'import { signedHeaders } from "./sign.ts"',
    "",
    'const key = JSON.parse(readFileSync("key.json", "utf8"))',
    `const url = ${address(path, " + ", (name) => `process.env["${name}"]`)}`,
    ...(body === undefined ? [] : [`const body = \`${bodyOf(request)}\``]),
    ...(hasKey ? [`// ${KEPT}`, "const idempotencyKey = crypto.randomUUID()"] : []),
    own.length === 0 ? `const headers = ${signed}` : `const headers = { ...${signed}, ${own.join(", ")} }`,
    `const answer = await fetch(url, { method: "${method}", headers${body === undefined ? "" : ", body"} })`,
    "console.log(await answer.text())",
    ""
  ].join("\n")
}

const go = (request: CurlRequest): string => {
  const { body, hasKey, headers, method, path } = request
  const isGiven = path.includes("{")
  const packages = [...(body === undefined ? [] : ['"bytes"']), '"net/http"', ...(isGiven ? ['"os"'] : [])]
  return [
    beside("//", "sign.go"),
    "package main",
    "",
    "import (",
    ...packages.map((name) => `\t${name}`),
    ")",
    "",
    ...(hasKey ? ["// Keep the idempotency key with your order: a retry sends the same one."] : []),
    `func send(key Key${hasKey ? ", idempotencyKey string" : ""}) (*http.Response, error) {`,
    `\taddress := ${address(path, " + ", (name) => `os.Getenv("${name}")`)}`,
    body === undefined ? "\tvar body []byte" : `\tbody := []byte(\`${bodyOf(request)}\`)`,
    `\trequest, err := http.NewRequest("${method}", address, ${body === undefined ? "nil" : "bytes.NewReader(body)"})`,
    "\tif err != nil {",
    "\t\treturn nil, err",
    "\t}",
    `\theaders, err := SignedHeaders(key, "${method}", address, body)`,
    "\tif err != nil {",
    "\t\treturn nil, err",
    "\t}",
    "\tfor name, value := range headers {",
    "\t\trequest.Header.Set(name, value)",
    "\t}",
    ...(body === undefined ? [] : ['\trequest.Header.Set("Content-Type", "application/json")']),
    ...(hasKey ? ['\trequest.Header.Set("Idempotency-Key", idempotencyKey)'] : []),
    ...Object.keys(headers).map((name) => `\trequest.Header.Set("${name}", key.AppID)`),
    "\treturn http.DefaultClient.Do(request)",
    "}",
    ""
  ].join("\n")
}

const java = (request: CurlRequest): string => {
  const { body, hasKey, headers, method, path } = request
  const sent = body === undefined ? "noBody()" : "ofByteArray(body)"
  return [
    beside("//", "Sign.java"),
    "import java.net.URI;",
    "import java.net.http.HttpClient;",
    "import java.net.http.HttpRequest;",
    "import java.net.http.HttpResponse;",
    "",
    "public class Example {",
    "  public static void main(String[] arguments) throws Exception {",
    '    var key = new Sign.Key(System.getenv("APP_ID"), System.getenv("KEY_ID"),',
    '        System.getenv("API_KEY"), System.getenv("SIGNING_SECRET"));',
    `    var url = ${address(path, " + ", (name) => `System.getenv("${name}")`)};`,
    body === undefined
      ? "    var body = new byte[0];"
      : `    var body = """\n${bodyOf(request).replaceAll(/^/gm, "        ")}""".getBytes("UTF-8");`,
    `    var request = HttpRequest.newBuilder(URI.create(url)).method("${method}", HttpRequest.BodyPublishers.${sent});`,
    `    Sign.signedHeaders(key, "${method}", url, body).forEach(request::header);`,
    ...(body === undefined ? [] : ['    request.header("Content-Type", "application/json");']),
    ...(hasKey ? [`    // ${KEPT}`, '    request.header("Idempotency-Key", java.util.UUID.randomUUID().toString());'] : []),
    ...Object.keys(headers).map((name) => `    request.header("${name}", key.appId());`),
    "    System.out.println(HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString()).body());",
    "  }",
    "}",
    ""
  ].join("\n")
}

/** The client's method for an operation. A missing row is an operation that is read by paging or that the client lacks. */
const methods: Readonly<Record<string, string>> = {
  "POST /v1/payouts": "payouts.create(BODY, KEY)",
  "POST /v1/payouts/quote": "payouts.quote(BODY)",
  "POST /v1/payouts/quotes": "payouts.quotes(BODY)",
  "GET /v1/payouts/{reference}": "payouts.get(REFERENCE)",
  "POST /v1/collections": "collections.create(BODY, KEY)",
  "GET /v1/collections/{reference}": "collections.get(REFERENCE)",
  "POST /v1/fx/quote": "exchanges.quote(BODY)",
  "POST /v1/fx/exchange": "exchanges.create(BODY, KEY)",
  "POST /v1/transactions/search": "transactions.search(BODY)",
  "GET /v1/float": "account.float()"
}

const withClient = (request: CurlRequest): string | undefined => {
  const method = methods[`${request.method} ${request.path}`]
  if (method === undefined) return undefined
  // The client uses bigint for amounts.
  const body = request.body === undefined ? "" : bodyOf(request).replaceAll(/("\w+_minor": )(\d+)/g, "$1$2n")
  const call = method
    .replace("BODY", () => body)
    .replace("KEY", "{ idempotencyKey }")
    .replace("REFERENCE", 'process.env["REFERENCE"] ?? ""')
  return [
    'import { readFileSync } from "node:fs"',
    'import { Gateway } from "payment-gateway-client"',
    "",
    'const key = JSON.parse(readFileSync("key.json", "utf8"))',
    `const gateway = new Gateway({ url: "${EXAMPLE_ORIGIN}", key })`,
    ...(method.includes("KEY") ? [`// ${KEPT}`, "const idempotencyKey = crypto.randomUUID()"] : []),
    `console.log(await gateway.${call})`,
    ""
  ].join("\n")
}
