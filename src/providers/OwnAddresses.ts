import { createHmac, timingSafeEqual } from "node:crypto"
import { Clock, Effect, Option, Redacted, Schema } from "effect"
import type { RawCallback } from "../services/ports/Provider.ts"
import { awaited, type SharedMemory } from "./SharedMemory.ts"

/** The purpose of an address, and its subject: a reference, or the number of a question. */
export interface Purpose<Kind extends string> {
  readonly kind: Kind
  readonly id: string
}

interface Own<Kind extends string> {
  readonly memory: SharedMemory
  /** The account, as its operator's settings name it. */
  readonly account: string
  /** The address of the account's callbacks, with its secret path. */
  readonly base: Redacted.Redacted
  /** Makes and proves the addresses of a kind below it, and is in none of them. */
  readonly secretOf: (kind: Kind) => Redacted.Redacted
  /** How long what came to an address is kept for those that ask, in milliseconds; 0: not at all. */
  readonly kinds: Readonly<Record<Kind, number>>
}

export type OwnAddresses<Kind extends string> = ReturnType<typeof ownAddresses<Kind>>

const PART = /^([a-z]+)-([0-9a-f]{2,64})-([0-9a-f]{32})$/
const MAC_DIGITS = 32
const HIDDEN_DIGITS = 32

/**
 * An address of ours for each request, for providers that are given one with it and sign nothing: `…/{kind}-{id}-{MAC}`. Only the provider has been given it,
 * which is what stands behind all that comes to it. Ids are written in hexadecimal digits, which make no word that a provider's filter could take
 * offence at. Whatever comes is kept in the memory that all nodes share, whichever of them took it.
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
    /** None for an address that was not made here, the account's own among them. */
    purposeOf: (path: string): Option.Option<Purpose<Kind>> => {
      const { id, kind, mac: given } = purposeIn(path) ?? { id: "", kind: "", mac: "" }
      return isKind(kind) && isGenuine({ id, kind }, given) ? Option.some({ kind, id }) : Option.none()
    },
    keep: (kind: Kind, id: string, body: RawCallback["body"] | string) => {
      if (kinds[kind] === 0) return Effect.void
      const value = Redacted.make(typeof body === "string" ? body : Buffer.from(body).toString("utf8"))
      return Effect.flatMap(Clock.currentTimeMillis, (now) => memory.put(nameOf(kind, id), value, now + kinds[kind]))
    },
    /** A text that is not to be read where it stands, as a name for it. Keys of the account change, and it does not. */
    hidden: (text: string): string =>
      createHmac("sha256", Redacted.value(base)).update(text).digest("hex").slice(0, HIDDEN_DIGITS),
    /** Whether the subject is this owner's, who has it from now on where nobody did. */
    owned: Effect.fnUntraced(function* (kind: Kind, id: string, owner: string): Effect.fn.Return<boolean> {
      const name = nameOf(kind, id)
      const until = (yield* Clock.currentTimeMillis) + kinds[kind]
      // Its owner in the same write: a subject that somebody has, and nobody knows who, would be lost to whose it is.
      if (yield* memory.claim(name, until, Redacted.make(JSON.stringify(owner)))) return true
      return Option.contains(read(yield* memory.get(name)), owner)
    }),
    /** The JSON that came, and stays. */
    kept: (kind: Kind, id: string) => Effect.map(memory.get(nameOf(kind, id)), read),
    /** The JSON that came, once. */
    taken: (kind: Kind, id: string) => Effect.map(memory.take(nameOf(kind, id)), read),
    /** The same, as soon as it comes; none where that is not in time. */
    awaited: (kind: Kind, id: string, until: number) => Effect.map(awaited(memory, nameOf(kind, id), until), read)
  }
}

const parsed = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Unknown))

/** Whether an address is https under a name that others could resolve, and none of a network of its own. */
export const isPublicName = (url: string): boolean => {
  const { hostname, protocol } = new URL(url)
  return protocol === "https:" && /\.(?!(?:local|localhost|localdomain|internal|lan)\.?$)[a-z]{2,}\.?$/i.test(hostname)
}

/** The purpose that the last part of an address names, genuine or not. */
export const purposeIn = (path: string): (Purpose<string> & { readonly mac: string }) | undefined => {
  const [, kind, hex = "", mac = ""] = PART.exec(path.split("/").at(-1) ?? "") ?? []
  return kind === undefined ? undefined : { kind, id: Buffer.from(hex, "hex").toString("utf8"), mac }
}
