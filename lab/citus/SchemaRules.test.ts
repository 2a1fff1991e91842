import { loadModule } from "libpg-query"
import { beforeAll, describe, expect, it } from "vitest"
import { tenantFunctions } from "../../src/persistence/connection/DistributedTables.ts"
import { functionsOnOneServer } from "./Exceptions.ts"
import { gatewaySchema } from "./GatewaySchema.ts"
import { offencesIn } from "./StatementRules.ts"

const words = (text: string): string => text.replaceAll(/\s+/g, " ").trim()

describe("the schema on Citus", () => {
  beforeAll(loadModule)

  it("has the tenant in every unique key of a distributed table", () => {
    const { uniqueKeys } = gatewaySchema()
    expect(uniqueKeys.length).toBeGreaterThan(20)
    expect(uniqueKeys.filter(({ columns }) => !columns.includes("app_id"))).toStrictEqual([])
  })

  it("has functions whose statements keep the rules, but for those that only one server runs", () => {
    const { functions, schemaOf } = gatewaySchema()
    const broken = functions.flatMap((one) =>
      one.statements.flatMap((text) =>
        offencesIn({ text, inTransaction: false, inFunction: one.name }, schemaOf(one)).map(
          ({ rule, what }) => `${one.name}: ${rule}: ${what}: ${words(text)}`
        )
      )
    )
    expect(broken.filter((line) => !functionsOnOneServer.some(({ name }) => line.startsWith(`${name}:`)))).toStrictEqual([])
    const needless = functionsOnOneServer.filter(({ name }) => !broken.some((line) => line.startsWith(`${name}:`)))
    expect(needless).toStrictEqual([])
  })

  it("has functions that Citus can send to a tenant's server: the tenant is the first parameter, and no plan is made without it", () => {
    const { functions } = gatewaySchema()
    const delegated = functions.filter(({ name }) => name in tenantFunctions)
    expect(delegated.map(({ name, variables }) => [name, variables[0]]).toSorted()).toStrictEqual(
      Object.entries(tenantFunctions).toSorted()
    )
    expect(delegated.filter(({ settings }) => settings.includes("plan_cache_mode"))).toStrictEqual([])
  })
})
