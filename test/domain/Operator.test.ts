import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { consoleActor, may, OperatorName, OperatorRole, type Permission } from "../../src/domain/Operator.ts"

const everything: ReadonlyArray<Permission> = ["look", "raw", "resolve", "redeliver", "propose", "approve", "configure"]

describe("a person in the console", () => {
  it.each([
    ["viewer", ["look"]],
    ["support", ["look", "raw", "resolve", "redeliver", "propose"]],
    ["approver", ["look", "raw", "resolve", "redeliver", "propose", "approve"]],
    ["admin", everything]
  ] as const)("who is %s may %j and nothing else", (role, granted) => {
    expect(everything.filter((permission) => may(role, permission))).toStrictEqual(granted)
  })

  it("has one of four roles", () => {
    expect(OperatorRole.literals).toStrictEqual(["viewer", "support", "approver", "admin"])
  })

  it("has a name of 1 to 40 characters that begins with a letter, and stands with it in the audit log", () => {
    const names = ["a", "ann.lee", "ann_lee-2", `a${"b".repeat(39)}`]
    expect(names.filter(Schema.is(OperatorName))).toStrictEqual(names)
    const others = ["", "Ann", "2ann", ".ann", "ann lee", "ann/lee", "ann\n", " ann", `a${"b".repeat(40)}`, "ané"]
    expect(others.filter(Schema.is(OperatorName))).toStrictEqual([])
    expect(consoleActor(OperatorName.make("ann"))).toBe("console/ann")
  })
})
