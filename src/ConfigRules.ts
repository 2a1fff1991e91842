import { BlockList, isIP } from "node:net"
import { Redacted, Schema } from "effect"
import { databaseServers } from "./persistence/connection/servers/DatabaseServers.ts"
import type { RateLimit } from "./services/ports/RateLimits.ts"

export type Variables = Readonly<Record<string, string | undefined>>

/** How one setting is read: what it must be, and its value, or undefined where the text is invalid. */
export interface Rule<A> {
  readonly meaning: string
  readonly of: (text: string) => A | undefined
  /** Its text is never shown. */
  readonly isSecret?: boolean
  /** The mistakes in a rejected text, one sentence each, where `meaning` is not enough. */
  readonly mistakes?: (text: string) => ReadonlyArray<string>
}

export type Reader = ReturnType<typeof reader>

/** An empty value counts as unset, as a shell leaves it. */
export const reader = (variables: Variables, mistakes: Array<string>) => {
  const given = (name: string): string | undefined => variables[name]?.trim() || undefined
  const check = <A>(name: string, value: string, rule: Rule<A>): A | undefined => {
    const read = rule.of(value)
    if (read !== undefined) return read
    const all = rule.mistakes?.(value).map((one) => `${name}: ${one}`) ?? [
      `${name} must be ${rule.meaning}${rule.isSecret === true ? "" : `, not ${JSON.stringify(value)}`}`
    ]
    // A setting that both modes share is read once for each of them.
    mistakes.push(...all.filter((one) => !mistakes.includes(one)))
    return undefined
  }
  const read = <A>(name: string, fallback: string, rule: Rule<A>): A => {
    const value = given(name)
    const own = value === undefined ? undefined : check(name, value, rule)
    const standard = own ?? rule.of(fallback)
    if (standard === undefined) throw new Error(`the default of ${name} is not ${rule.meaning}`)
    return standard
  }
  const optional = <A>(name: string, rule: Rule<A>): A | null => {
    const value = given(name)
    return value === undefined ? null : (check(name, value, rule) ?? null)
  }
  /** The first variable with such a name that is set, whether the gateway knows it or not. */
  const named = (name: RegExp): string | undefined =>
    Object.keys(variables).find((one) => name.test(one) && given(one) !== undefined)
  return Object.assign(read, { optional, named, has: (name: string) => given(name) !== undefined })
}

export const text: Rule<string> = { meaning: "a text", of: (value) => value }
export const secret: Rule<Redacted.Redacted> = { meaning: "a text", of: (value) => Redacted.make(value), isSecret: true }

const MASTER_KEY_BYTES = 32
export const masterKeyText: Rule<Redacted.Redacted> = {
  meaning: `${MASTER_KEY_BYTES} bytes in base64`,
  of: (value) => {
    const bytes = Buffer.from(value, "base64")
    return bytes.length === MASTER_KEY_BYTES && bytes.toString("base64") === value ? Redacted.make(value) : undefined
  },
  isSecret: true
}

export const wholeNumber = (minimum: number, maximum: number): Rule<number> => ({
  meaning: `a whole number from ${minimum} to ${maximum}`,
  of: (value) => (/^\d{1,9}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum ? Number(value) : undefined)
})

export const oneOf = <const A>(choices: Readonly<Record<string, A>>): Rule<A> => ({
  meaning: `one of ${Object.keys(choices).join(", ")}`,
  of: (value) => (Object.hasOwn(choices, value.toLowerCase()) ? choices[value.toLowerCase()] : undefined)
})

/** One of these words, in this spelling. */
export const words = <const W extends string>(meaning: string, ...all: ReadonlyArray<W>): Rule<W> => ({
  meaning,
  of: (value) => all.find((word) => word === value)
})

export const boolean = oneOf({ true: true, false: false })

const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const isUnit = Schema.is(Schema.Literals(["ms", "s", "m", "h", "d"]))
export const duration: Rule<number> = {
  meaning: "a duration such as 15s, 1m or 2h",
  of: (value) => {
    const [, count, unit] = /^(\d{1,6})(ms|s|m|h|d)$/.exec(value) ?? []
    return isUnit(unit) ? Number(count) * units[unit] : undefined
  }
}

export const durationUpTo = (longest: string): Rule<number> => ({
  meaning: `a duration of at most ${longest}, such as 500ms or 5s`,
  of: (value) => {
    const [own, most] = [duration.of(value), duration.of(longest)]
    return own !== undefined && most !== undefined && own <= most ? own : undefined
  }
})

const SIZES: Readonly<Record<string, number>> = { MB: 1e6, GB: 1e9, TB: 1e12 }
/** In bytes. */
export const size: Rule<number> = {
  meaning: "a size such as 500GB or 2TB",
  of: (value) => {
    const [, count, unit = ""] = /^([1-9]\d{0,5})(MB|GB|TB)$/.exec(value.toUpperCase()) ?? []
    return count === undefined ? undefined : Number(count) * (SIZES[unit] ?? 0)
  }
}

export const longerThanZero: Rule<number> = { ...duration, of: (value) => duration.of(value) || undefined }

export const list = <A>(rule: Rule<A>): Rule<ReadonlyArray<A>> => ({
  meaning: `a comma list, each ${rule.meaning}`,
  of: (value) => {
    const items = value === "" ? [] : value.split(",").map((item) => rule.of(item.trim()))
    return items.every((item) => item !== undefined) ? items : undefined
  }
})

export const rising: Rule<ReadonlyArray<number>> = {
  meaning: "a comma list of rising durations such as 15s,1m,2h",
  of: (value) => {
    const ages = list(longerThanZero).of(value)
    return ages !== undefined && ages.length > 0 && ages.every((age, index) => age > (ages[index - 1] ?? 0)) ? ages : undefined
  }
}

export const hostName: Rule<string> = {
  meaning: "a host name or an IP address",
  of: (value) => (/^[\w.:-]+$/.test(value) ? value.toLowerCase() : undefined)
}

const urlWith = (meaning: string, protocols: ReadonlyArray<string>): Rule<string> => ({
  meaning,
  of: (value) => (URL.canParse(value) && protocols.includes(new URL(value).protocol) ? value.replace(/\/+$/, "") : undefined)
})

export const httpUrl = urlWith("an http or https address", ["http:", "https:"])

export const httpsUrl: Rule<string> = {
  meaning: "an https address",
  of: (value) => (value.startsWith("https://") ? httpUrl.of(value) : undefined)
}

/** May contain a user and a password, even if it is no valid address: its text is never shown. */
export const collectorUrl: Rule<string> = { ...httpUrl, isSecret: true }

/** A rate such as `500/s:1000`: how many per second, minute or hour, and how many at once. */
export const rate: Rule<RateLimit | "off"> = {
  meaning: "off, or a rate and its burst such as 500/s:1000",
  of: (value) => {
    if (value.toLowerCase() === "off") return "off"
    const [, count = "0", unit, burst = count] = /^([1-9]\d{0,6})\/(s|m|h)(?::([1-9]\d{0,6}))?$/.exec(value) ?? []
    return isUnit(unit) ? { count: Number(count), windowMs: units[unit], burst: Number(burst) } : undefined
  }
}

/** An IP address, or a network such as 10.0.0.0/8. */
export const network: Rule<string> = {
  meaning: "an IP address or a network such as 10.0.0.0/8",
  of: (value) => {
    const [address = "", length, ...more] = value.split("/")
    const version = isIP(address)
    if (version === 0 || more.length > 0) return undefined
    return length === undefined || (/^\d{1,3}$/.test(length) && Number(length) <= (version === 4 ? 32 : 128)) ? value : undefined
  }
}

/** An IP address, or one with a port such as 10.0.0.53:5353 or [2001:db8::53]:5353. */
export const nameServer: Rule<string> = {
  meaning: "an IP address, or one with a port such as 10.0.0.53:5353",
  of: (value) => {
    const [, six, four, port = "53"] = /^(?:\[([^\]]+)\]|([\d.]+))(?::(\d{1,5}))?$/.exec(value) ?? []
    const isOne = isIP(value) !== 0 || isIP(six ?? "") === 6 || isIP(four ?? "") === 4
    return isOne && Number(port) > 0 && Number(port) <= 65_535 ? value : undefined
  }
}

export const redisUrl: Rule<Redacted.Redacted> = {
  meaning: "a redis:// or rediss:// address",
  of: (value) => (urlWith("", ["redis:", "rediss:"]).of(value) === undefined ? undefined : Redacted.make(value)),
  isSecret: true
}

export const postgresUrl: Rule<Redacted.Redacted> = {
  meaning: "a postgres:// address",
  of: (value) => (databaseServers(value) === undefined ? undefined : Redacted.make(value)),
  isSecret: true
}

/** Whether an address leads to this machine and nowhere else. */
export const isLoopback = (url: string): boolean => isLoopbackHost(new URL(url).hostname)

/** The same for a host alone, IPv6 with or without its brackets. */
export const isLoopbackHost = (host: string): boolean => {
  const address = host.replace(/^\[(.*)\]$/, "$1")
  const version = isIP(address)
  return version === 0 ? address.toLowerCase() === "localhost" : loopback.check(address, version === 4 ? "ipv4" : "ipv6")
}

// An IPv4-mapped IPv6 address is checked as the IPv4 address that it is.
const loopback = new BlockList()
loopback.addSubnet("127.0.0.0", 8, "ipv4")
// A connection to "any address" reaches this machine.
loopback.addAddress("0.0.0.0", "ipv4")
loopback.addAddress("::1", "ipv6")
