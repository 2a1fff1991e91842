import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { createServer, type RequestListener, type Server } from "node:http"
import { join, resolve } from "node:path"
import { runInNewContext } from "node:vm"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { delivery, dispatched, newSecret, type Received, receiver } from "../../support/WebhookReceiver.ts"

const root = resolve(import.meta.dirname, "..", "..", "..")
const page = readFileSync(join(root, "docs", "integrating", "webhooks.md"), "utf8")
const shown = (language: string) => new RegExp(`\`\`\`${language}(?: [\\w.]+)?\n([^]*?)\n\`\`\``).exec(page)?.[1] ?? ""

interface Language {
  readonly name: string
  readonly program: string
  readonly args: ReadonlyArray<string>
}

/** Each exits 0 if what it reads as JSON is signed with the secret, and 1 otherwise. */
const languages: ReadonlyArray<Language> = [
  {
    name: "Python's standard library, as docs/integrating/webhooks.md shows it",
    program: "python3",
    args: [
      "-c",
      `${shown("python")}\nimport json, sys\nd = json.load(sys.stdin)\nverify(d["secret"], d["headers"], d["body"].encode())`
    ]
  },
  {
    name: "Perl's core modules",
    program: "perl",
    args: [
      "-MDigest::SHA=hmac_sha256",
      "-MMIME::Base64",
      "-MJSON::PP",
      "-e",
      `local $/; my $d = decode_json(<STDIN>); my $body = $d->{body}; utf8::encode($body); my $h = $d->{headers};
       my $text = join(".", $h->{"webhook-id"}, $h->{"webhook-timestamp"}, $body);
       my $ours = "v1," . encode_base64(hmac_sha256($text, decode_base64(substr($d->{secret}, 6))), "");
       exit((grep { $_ eq $ours } split(/ /, $h->{"webhook-signature"})) ? 0 : 1);`
    ]
  }
]
const isHere = ({ args, program }: Language) =>
  spawnSync(program, program === "perl" ? [...args.slice(0, 3), "-e", "1"] : ["--version"]).status === 0
const here = languages.filter(isHere)

const verifies = ({ args, program }: Language, secret: string, { body, headers }: Received): boolean =>
  spawnSync(program, args, { input: JSON.stringify({ secret, headers, body }) }).status === 0

/** Characters of two, three and four bytes, one of them in two ways, and a line end that is none in JSON. */
const MULTIBYTE = '{"narration":"th\u00e9 the\u0301 商店 💸 \u2028"}'

const delivered = Effect.fnUntraced(function* (body?: string) {
  const { received, url } = yield* receiver((response) => response.writeHead(204).end())
  const [secret, previousSecret] = [newSecret(), newSecret()]
  yield* dispatched([delivery(url, secret, { previousSecret, ...(body === undefined ? {} : { body }) })])
  const [one] = received
  return one === undefined ? yield* Effect.die("nothing came") : { one, secret, previousSecret }
})

describe("a delivery", () => {
  for (const language of here) {
    it.live(`is verified by ${language.name}, and a forged one is not`, () =>
      Effect.gen(function* () {
        const { one, previousSecret, secret } = yield* delivered()
        expect([secret, previousSecret, newSecret()].map((given) => verifies(language, given, one))).toEqual([true, true, false])
        expect(verifies(language, secret, { ...one, body: `${one.body} ` })).toBe(false)
        expect(verifies(language, secret, { ...one, headers: { ...one.headers, "webhook-id": "another" } })).toBe(false)
      })
    )
  }

  for (const language of here) {
    it.live(
      `of characters of several bytes is verified by ${language.name}, and the same text of other bytes is not (38.15)`,
      () =>
        Effect.gen(function* () {
          const { one, secret } = yield* delivered(MULTIBYTE)
          expect(verifies(language, secret, one)).toBe(true)
          expect(verifies(language, secret, { ...one, body: one.body.normalize("NFC") })).toBe(false)
        })
    )
  }

  it(`was offered to every other language of this machine: ${here.map(({ program }) => program).join(", ") || "there is none"}`, () => {
    expect(languages.filter(isHere)).toEqual(here)
  })

  it.live("is accepted by the receiver that docs/integrating/webhooks.md shows, which refuses a forged one", () =>
    Effect.gen(function* () {
      const secret = newSecret()
      const { lines, url } = yield* shownReceiver(secret)
      const body = '{"id":"E1","type":"payout.successful","data":{"reference":"R1","version":3,"narration":"thé 商店 💸"}}'
      const settled = yield* dispatched([delivery(url, secret, { body }), delivery(url, newSecret(), { body })])
      expect(settled.map(({ attempt }) => attempt.status).toSorted()).toEqual([204, 400])
      expect(lines).toEqual([["E1", "payout.successful", "R1", 3]])
    })
  )
})

/** The page's own lines, with what they import handed to them. */
const shownReceiver = (secret: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const lines: Array<ReadonlyArray<unknown>> = []
      const servers: Array<Server> = []
      const imported = {
        Webhook,
        createServer: (listener: RequestListener) => {
          const server = createServer(listener)
          servers.push(server)
          return server
        },
        process: { env: { PORT: "0", WEBHOOK_SECRET: secret } },
        console: { log: (...line: ReadonlyArray<unknown>) => lines.push(line) }
      }
      runInNewContext(shown("js").replaceAll(/^import .*$/gm, ""), imported)
      const [server] = servers
      if (server === undefined) throw new Error("the page shows no server")
      if (!server.listening) await once(server, "listening")
      const address = server.address()
      return { lines, server, url: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}/` }
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
