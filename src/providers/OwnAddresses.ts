import { createHmac, timingSafeEqual } from "node:crypto"
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import type { RawCallback } from "../services/ports/Provider.ts"
import { awaited, type SharedMemory } from "./SharedMemory.ts"

/** The purpose of an address and its subject: a reference, or the number of a query. */
interface Purpose<Kind extends string> {
  readonly kind: Kind
  readonly id: string
}

interface Own<Kind extends string> {
  readonly memory: SharedMemory
  /** The account's name in its operator's settings. */
  readonly account: string
  /** The account's callback URL, with its secret path. */
  readonly base: Redacted.Redacted
  /** The secret that creates and verifies addresses of a kind. No address contains it. */
  readonly secretOf: (kind: Kind) => Redacted.Redacted
  /** How long a request to an address of each kind is stored for its reader, in milliseconds; 0: not stored. */
  readonly kinds: Readonly<Record<Kind, number>>
}

export type OwnAddresses<Kind extends string> = ReturnType<typeof ownAddresses<Kind>>

const PART = /^([a-z]+)-([0-9a-f]{2,64})-([0-9a-f]{32})$/
const MAC_DIGITS = 32
const HIDDEN_DIGITS = 32

/**
 * Creates an address of ours for each request, for providers that take a callback URL per request and sign nothing:
 * `…/{kind}-{id}-{MAC}`. Only the provider knows it, and that is what authenticates a request to it. Ids are written in
 * hexadecimal, which forms no word that a provider's filter could object to. Whatever arrives is stored in the memory that all
 * nodes share, so any node may receive it.
 */
export const ownAddresses = <Kind extends string>({ account, base, kinds, memory, secretOf }: Own<Kind>) => {
  const mac = ({ id, kind }: Purpose<Kind>): string =>
    createHmac("sha256", Redacted.value(secretOf(kind)))
      .update(`${kind} ${id}`)
      .digest("hex")
      .slice(0, MAC_DIGITS)
  const nameOf = (kind: string, id: string): string => `${account} ${kind} ${id}`
  const read = Option.flatMap((value: Redacted.Redacted) => parsed(Redacted.value(value)))
  const isKind = (kind: string): kind is Kind => Object.hasOwn(kinds, kind)
  const isGenuine = (purpose: Purpose<Kind>, given: string): boolean =>
    timingSafeEqual(Buffer.from(given), Buffer.from(mac(purpose)))

  return {
    of: (kind: Kind, id: string): string =>
      `${Redacted.value(base).replace(/\/+$/, "")}/${kind}-${Buffer.from(id).toString("hex")}-${mac({ kind, id })}`,
    /** None for an address that was not created here, including the account's own address. */
    purposeOf: (path: string): Option.Option<Purpose<Kind>> => {
      const { id, kind, mac: given } = purposeIn(path) ?? { id: "", kind: "", mac: "" }
      return isKind(kind) && isGenuine({ id, kind }, given) ? Option.some({ kind, id }) : Option.none()
    },
    keep: (kind: Kind, id: string, body: RawCallback["body"] | string) => {
      if (kinds[kind] === 0) return Effect.void
      const value = Redacted.make(typeof body === "string" ? body : Buffer.from(body).toString("utf8"))
      return Effect.flatMap(Clock.currentTimeMillis, (now) => memory.put(nameOf(kind, id), value, now + kinds[kind]))
    },
    /** A name for a text that must not be readable there. It stays the same when the account's keys change. */
    hidden: (text: string): string =>
      createHmac("sha256", Redacted.value(base)).update(text).digest("hex").slice(0, HIDDEN_DIGITS),
    /** Claims the subject for this owner if it is free. True when the owner has it now. */
    owned: Effect.fnUntraced(function* (kind: Kind, id: string, owner: string): Effect.fn.Return<boolean> {
      const name = nameOf(kind, id)
      const until = (yield* Clock.currentTimeMillis) + kinds[kind]
      // The owner is stored by the same write. A claim without its owner would lock out the owner itself.
      if (yield* memory.claim(name, until, Redacted.make(JSON.stringify(owner)))) return true
      return Option.contains(read(yield* memory.get(name)), owner)
    }),
    /** The JSON that arrived; it stays stored. */
    kept: (kind: Kind, id: string) => Effect.map(memory.get(nameOf(kind, id)), read),
    /** The JSON that arrived, and removes it. */
    taken: (kind: Kind, id: string) => Effect.map(memory.take(nameOf(kind, id)), read),
    /** Waits for the JSON and removes it; none when it does not arrive in time. */
    awaited: (kind: Kind, id: string, until: number) => Effect.map(awaited(memory, nameOf(kind, id), until), read)
  }
}

const parsed = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Whether a URL is https with a publicly resolvable host name, not one of a private network. */
export const isPublicName = (url: string): boolean => {
  const { hostname, protocol } = new URL(url)
  return protocol === "https:" && /\.(?!(?:local|localhost|localdomain|internal|lan)\.?$)[a-z]{2,}\.?$/i.test(hostname)
}

/** The purpose that an address's last part names, whether genuine or not. */
export const purposeIn = (path: string): (Purpose<string> & { readonly mac: string }) | undefined => {
  const [, kind, hex = "", mac = ""] = PART.exec(path.split("/").at(-1) ?? "") ?? []
  return kind === undefined ? undefined : { kind, id: Buffer.from(hex, "hex").toString("utf8"), mac }
}
