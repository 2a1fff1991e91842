/** Placeholder for the gateway's address in the description's examples. */
export const EXAMPLE_ORIGIN = "https://gateway.example"

/** One request to show as a shell script. */
export interface CurlRequest {
  readonly method: string
  /** A route template, such as `/v1/payouts/{reference}`. */
  readonly path: string
  /** Undefined when there is none. */
  readonly body: unknown
  readonly hasKey: boolean
  /** Additional headers, with their values in shell syntax. */
  readonly headers: Readonly<Record<string, string>>
}

/** A shell script that signs and sends one request, with a POSIX shell, openssl and curl; the key is in the environment. */
export const signedCurl = ({ body, hasKey, headers, method, path }: CurlRequest): string => {
  const given = path.replace(/\{(\w+)\}/g, (_, name: string) => `\${${name.toUpperCase()}:?}`)
  const own = Object.entries(headers).map(([name, value]) => `-H "${name}: ${value}"`)
  const sent = [
    '-H "X-Gateway-Key: $APP_ID.$KEY_ID.$API_KEY"',
    '-H "X-Gateway-Timestamp: $time"',
    '-H "X-Gateway-Nonce: $nonce"',
    '-H "X-Gateway-Signature: v1=$signature"',
    ...(hasKey ? ['-H "Idempotency-Key: $key"'] : []),
    ...own,
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", '--data-binary "$body"'])
  ]
  return [
    "# Your key: APP_ID, KEY_ID, API_KEY and",
    "# SIGNING_SECRET in the environment.",
    `gateway=${EXAMPLE_ORIGIN}`,
    `method=${method}`,
    `path=${given === path ? path : `"${given}"`}`,
    `body=${body === undefined ? "" : quoted(JSON.stringify(body, null, 2))}`,
    ...(hasKey ? ["# Keep the key: a retry sends the same one.", "key=$(openssl rand -hex 16)"] : []),
    "",
    "time=$(date +%s)",
    "nonce=$(openssl rand -hex 16)",
    `hash=$(printf %s "$body" | openssl dgst -sha256 -r | cut -d ' ' -f 1)`,
    "# Ten lines. The seventh is the query: none.",
    `text=$(printf '%s\\n' v1 "$APP_ID" "$KEY_ID" "\${gateway#*//}" \\`,
    `  "$method" "$path" "" "$time" "$nonce" "$hash")`,
    'signature=$(printf %s "$text" |',
    `  openssl dgst -sha256 -hmac "$SIGNING_SECRET" -r | cut -d ' ' -f 1)`,
    "",
    'curl -sS -X "$method" "$gateway$path" \\',
    ...sent.map((line, at) => `  ${line}${at === sent.length - 1 ? "" : " \\"}`),
    ""
  ].join("\n")
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
