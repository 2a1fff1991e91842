import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import { interfaceDescription } from "../../support/InterfaceDescription.ts"
import { type Answer, said } from "../../support/SignedClient.ts"
import { Stack, tenantOn } from "../../support/Stack.ts"

interface Described {
  readonly method: string
  readonly path: string
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly in: string }>
}

const described = (): ReadonlyArray<Described> => {
  const { paths }: { paths: Record<string, Record<string, { parameters?: Described["parameters"] }>> } = JSON.parse(
    JSON.stringify(interfaceDescription())
  )
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { parameters = [] }]) => ({ method: method.toUpperCase(), path, parameters }))
  )
}

const isSigned = ({ path }: Described) => path.startsWith("/v1/") || path === "/health/detail"
const takesQuery = ({ parameters }: Described) => parameters.some((one) => one.in === "query")
const asking = described().filter((one) => ["GET", "DELETE"].includes(one.method) && isSigned(one))
const lists = asking.filter((one) => takesQuery(one) && !one.path.endsWith("}"))
const others = asking.filter((one) => !lists.includes(one))
const targetOf = (path: string): string =>
  path
    .replace("{country}", "UG")
    .replace("{bank_code}", "01")
    .replace("{name}", "books")
    .replace(/\{\w+\}/g, "AAA688MG9KT6BQ76F4NM4BJRH5")

const issuesOf = (answer: Answer): ReadonlyArray<{ path: string; message: string }> =>
  JSON.parse(answer.text).error?.details.issues ?? []
const UNKNOWN = "is not a parameter of this endpoint"

layer(Stack.layer(), { excludeTestServices: true })("a parameter that an endpoint does not name", (it) => {
  it.effect.each(lists)("is refused and named by GET $path, which lists nothing then", ({ method, path }) =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const answer = yield* tenant.call(method, `${targetOf(path)}?no_such=1`)
      expect(said(answer)).toMatchObject({ status: 422, code: "validation_failed", class: "terminal" })
      expect(issuesOf(answer)).toContainEqual({ path: "no_such", message: UNKNOWN })
    })
  )

  it.effect.each(lists)("is none of those that the description of GET $path has", ({ method, parameters, path }) =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const names = parameters
        .filter((one) => one.in === "query")
        .map(({ name }) => (name === "metadata" ? "metadata.order" : name))
      const answer = yield* tenant.call(method, `${targetOf(path)}?${names.map((name) => `${name}=1`).join("&")}`)
      expect(issuesOf(answer).filter(({ message }) => message === UNKNOWN)).toStrictEqual([])
    })
  )

  it.effect("is named beside the other mistakes of the query, also where it is an object's own", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const answer = yield* tenant.get("/v1/webhooks/deliveries?type=payout.failed&status=sent&toString=1&Status=due")
      expect(issuesOf(answer)).toStrictEqual([
        { path: "type", message: UNKNOWN },
        { path: "toString", message: UNKNOWN },
        { path: "Status", message: UNKNOWN },
        { path: "status", message: "must be one of due, delivered, parked" }
      ])
    })
  )

  it.effect.each(others)("is ignored by $method $path, which is no list", ({ method, path }) =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const plain = yield* tenant.call(method, targetOf(path))
      const answer = yield* tenant.call(method, `${targetOf(path)}?no_such=1`)
      expect([answer.status, issuesOf(answer)]).toStrictEqual([plain.status, issuesOf(plain)])
    })
  )

  it.effect("is ignored beside a body, which says what is meant, and by a probe of the health", () =>
    Effect.gen(function* () {
      const { gateway } = yield* Stack
      const tenant = yield* tenantOn(gateway, 0n)
      const wish = { source_currency: "UGX", destination_currency: "KES", source_amount_minor: 100_000 }
      expect((yield* tenant.post("/v1/fx/quote?no_such=1", wish)).status).toBe(200)
      expect((yield* Effect.promise(() => fetch(`${gateway.url}/health?no_such=1`))).status).toBe(200)
    })
  )
})
