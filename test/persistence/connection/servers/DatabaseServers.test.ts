import { describe, expect, it } from "vitest"
import { databaseServers } from "../../../../src/persistence/connection/servers/DatabaseServers.ts"

const read = (text: string) => {
  const named = databaseServers(text)
  return typeof named === "object"
    ? { servers: named.servers.map(({ host, port }) => `${host} ${port}`), looks: named.looksForPrimary, first: named.first.href }
    : named
}

describe("the address of a database", () => {
  it.each([
    ["postgres://u:p@a:5433/db", ["a 5433"], false, "postgres://u:p@a:5433/db"],
    ["postgres://a/db?target_session_attrs=any", ["a 5432"], false, "postgres://a/db?target_session_attrs=any"],
    ["postgres://a/db?target_session_attrs=primary", ["a 5432"], true, "postgres://a/db?target_session_attrs=primary"],
    [
      "postgresql://u:p%40@a:5433,b/db?sslmode=require",
      ["a 5433", "b 5432"],
      true,
      "postgresql://u:p%40@a:5433/db?sslmode=require"
    ],
    ["postgres://[::1]:1,[::2]:2/db", ["::1 1", "::2 2"], true, "postgres://[::1]:1/db"],
    ["postgres://u@/db?host=a,b&port=1,2", ["a 1", "b 2"], true, "postgres://u@a:1/db"],
    ["postgres://u@/db?host=a,/run/pg&port=7", ["a 7", "/run/pg 7"], true, "postgres://u@a:7/db"],
    ["postgres://%2Frun%2Fpg/db", ["/run/pg 5432"], false, "postgres://%2Frun%2Fpg/db"]
  ])("%s names its servers", (text, servers, looks, first) => {
    expect(read(text)).toEqual({ servers, looks, first })
  })

  it.each([
    ["postgres://a:1,b:2/db?port=1,2,3", "names 2 hosts and 3 ports"],
    ["postgres://a:1,b:x/db", "has a port that is none"],
    ["postgres://a:1,b:70000/db", "has a port that is none"],
    ["postgres://a,/db", "has a host that cannot be read"],
    ["postgres://a,b/db?target_session_attrs=standby", "has a target_session_attrs that is none of any, read-write, primary"],
    ["https://a/db", undefined],
    ["a,b", undefined]
  ])("%s is refused", (text, why) => {
    expect(read(text)).toBe(why)
  })
})
