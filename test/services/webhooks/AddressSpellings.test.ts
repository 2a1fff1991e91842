import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { NOT_REACHED } from "../../../src/domain/Delivery.ts"
import { WebhookSender } from "../../../src/services/ports/WebhookSender.ts"
import { addressProblem, endpointUrlProblem } from "../../../src/services/webhooks/EndpointAddress.ts"
import { endpointConnection } from "../../../src/services/webhooks/EndpointConnection.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { type NameServer, nameServer } from "../../support/NameServer.ts"

/** Spellings of a host that is this machine, a neighbour, a cloud's metadata or nobody; each as a URL writes it. */
const hosts = [
  // This machine, by every way to write four bytes.
  ["127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0X7F000001", "0x7f.0x0.0x0.0x1", "0x7f.1"],
  ["0177.0.0.1", "0177.1", "017700000001", "0x7f.0.0.01", "127.0.0.1.", "127.1.", "00000177.0.0.1"],
  [
    "%31%32%37.0.0.1",
    "127%2E0%2E0%2E1",
    "127.0.0.%31",
    "①②⑦.⓪.⓪.①",
    "１２７.０.０.１",
    "127。0。0。1",
    "127．0．0．1",
    "127｡0｡0｡1"
  ],
  ["127.0.0\u00AD.1", "127.0.\t0.1", "127.0.\n0.1", "𝟏𝟐𝟕.0.0.1"],
  ["localhost", "LOCALHOST", "LocalHost.", "localhost.", "a.localhost", "ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "%6c%6f%63alhost"],
  // "This network", which many systems take for this machine.
  ["0.0.0.0", "0", "0x0", "00", "0.0.0.0.", "0.1.2.3"],
  // Clouds' metadata.
  [
    "169.254.169.254",
    "169.254.43518",
    "2852039166",
    "0xa9fea9fe",
    "0251.0376.0251.0376",
    "0xA9.0xFE.0xA9.0xFE",
    "169.254.169.254."
  ],
  ["100.100.100.200", "192.0.0.192", "169.254.170.2"],
  // Neighbours and what is nobody's.
  ["10.0.0.1", "10.1", "167772161", "012.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "192.168.257", "3232235777"],
  ["100.64.0.1", "100.127.255.255", "198.18.0.1", "198.19.255.255", "192.0.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1"],
  ["192.88.99.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "4294967295"],
  // IPv6: this machine, nobody, mapped, compatible, translated.
  ["[::1]", "[0:0:0:0:0:0:0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]", "[::0.0.0.1]", "[::]", "[0::0]"],
  ["[::ffff:127.0.0.1]", "[::FFFF:7F00:1]", "[0:0:0:0:0:ffff:10.0.0.1]", "[::ffff:a9fe:a9fe]", "[::ffff:0:127.0.0.1]"],
  ["[::127.0.0.1]", "[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]"],
  ["[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[2001:0:7f00:1::]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]"],
  ["[fe80::1]", "[FE80::A]", "[febf::1]", "[fec0::1]", "[fc00::1]", "[fd00::1]", "[fd00:ec2::254]", "[ff02::1]", "[ff0e::1]"],
  // Not even URLs.
  ["[fe80::1%25eth0]", "[fe80::1%eth0]", "[::1%lo]", "256.0.0.1", "127.0.0.0x100", "1.2.3.4.5", "[::1", "127.0.0.1%00", "[::1]."]
].flat()

/** Ways around the host. */
const urls = [
  "https://user@127.0.0.1/",
  "https://user:word@example.com/",
  "https://example.com@127.0.0.1/",
  "https://127.0.0.1\\@example.com/",
  "https://127.0.0.1#@example.com/",
  "https://127.0.0.1?@example.com/",
  "https:127.0.0.1/",
  "https:/127.0.0.1/",
  "https:\\\\127.0.0.1\\",
  "https:////127.0.0.1/",
  " https://127.0.0.1/",
  "HtTpS://127.0.0.1/",
  "ht\ttps://127.0.0.1/",
  "http://example.com/",
  "http://93.184.215.14/",
  "ftp://example.com/",
  "file:///etc/passwd",
  "gopher://127.0.0.1:6379/_",
  "data:text/plain,x",
  "//example.com/",
  "javascript:0"
]

const publics = [
  "93.184.215.14",
  "1.1.1.1",
  "172.15.0.1",
  "172.32.0.1",
  "100.63.0.1",
  "192.0.1.1",
  "198.20.0.1",
  "2606:2800:21f:cb07::1"
]

const BOUNDS = { nameMs: 5_000, connectMs: 5_000, wholeMs: 5_000 }
const postedBy =
  ({ address }: NameServer) =>
  (url: string) =>
    Effect.flatMap(WebhookSender, ({ post }) => post({ url, headers: {}, body: "{}" })).pipe(
      Effect.provide(Layer.provide(endpointConnection(BOUNDS, [address]), fakePolicy({ webhookAllowLoopback: false })))
    )
const REFUSED = /not a public address|a public address|this machine|not a URL|must begin|credentials/

describe("the address check of tenants' endpoints", () => {
  it.live(`refuses ${hosts.length + urls.length} spellings of private addresses when they are dialled, without a look-up`, () =>
    Effect.gen(function* () {
      const names = yield* nameServer(() => ["93.184.215.14"])
      const post = postedBy(names)
      const spelt = [...hosts.map((host) => `https://${host}/hook`), ...urls]
      expect(spelt.length).toBeGreaterThan(80)
      const answered = yield* Effect.forEach(spelt, (url) => Effect.map(post(url), (answer) => ({ url, ...answer })))
      expect(answered.filter(({ problem, status }) => status !== null || !REFUSED.test(problem ?? ""))).toEqual([])
      expect(names.asked).toEqual([])
    })
  )

  it.live("refuses a name that resolves to such an address, at any dial", () =>
    Effect.gen(function* () {
      /** What a name resolves to, one list a lookup; the last one stays. */
      const answers = new Map<string, Array<ReadonlyArray<string>>>()
      const names = yield* nameServer((name, type) => {
        const given = answers.get(name) ?? []
        const now = given[0] ?? []
        // The second question of a lookup is for the same list.
        if (type === "AAAA" && given.length > 1) given.shift()
        return now
      })
      const post = postedBy(names)
      const resolved = [
        ["127.0.0.1", "0.0.0.0", "10.0.0.1", "169.254.169.254", "100.64.0.1", "192.168.0.1", "172.16.0.1", "255.255.255.255"],
        [
          "::1",
          "::",
          "::ffff:127.0.0.1",
          "::ffff:7f00:1",
          "::127.0.0.1",
          "64:ff9b::7f00:1",
          "2002:7f00:1::",
          "fd00::1",
          "fe80::1",
          "ff02::1"
        ]
      ].flat()
      for (const [index, address] of resolved.entries()) {
        answers.set(`n${index}.example`, [[address]])
        const answer = yield* post(`https://n${index}.example/`)
        // As the resolver spells it: "::ffff:127.0.0.1" and "::ffff:7f00:1" are one address.
        expect([address, answer.problem]).toEqual([address, expect.stringMatching(/^[\da-f.:]+ is not a public address$/)])
        expect(answer.excerpt).toBe(NOT_REACHED)
      }
      // Behind a public address, in one answer.
      answers.set("both.example", [["93.184.215.14", "127.0.0.1"]])
      expect((yield* post("https://both.example/")).problem).toBe("127.0.0.1 is not a public address")
      // Public when the endpoint was set, private when it is dialled. Each dial looks up once: what was checked is what is dialled.
      answers.set("turning.example", [["10.0.0.1"], ["127.0.0.1"], ["93.184.215.14", "::1"]])
      expect(endpointUrlProblem("https://turning.example/", false)).toBe(undefined)
      const turned = [
        yield* post("https://turning.example/"),
        yield* post("https://turning.example/"),
        yield* post("https://turning.example/")
      ]
      expect(turned.map(({ problem }) => problem)).toEqual(
        ["10.0.0.1", "127.0.0.1", "::1"].map((address) => `${address} is not a public address`)
      )
      expect(names.asked.filter((question) => question === "A turning.example")).toHaveLength(3)
      for (const zoned of ["fe80::1%eth0", "::1%lo"]) expect(addressProblem(zoned, "https:", false)).toContain("not a public")
    })
  )

  it("accepts public addresses, also next to reserved ones", () => {
    for (const address of publics) {
      const host = address.includes(":") ? `[${address}]` : address
      expect([address, endpointUrlProblem(`https://${host}/`, false), addressProblem(address, "https:", false)]).toEqual([
        address,
        undefined,
        undefined
      ])
    }
    expect(endpointUrlProblem("https://tenant.example:8443/hook?x=1", false)).toBe(undefined)
  })
})
