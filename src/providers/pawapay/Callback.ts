import { createHash, type KeyObject, verify } from "node:crypto"
import { Option } from "effect"
import type { Callbacks, RawCallback } from "../../services/ports/Provider.ts"
import { hintReader } from "../CallbackVerification.ts"
import type { CallbackKeys } from "./CallbackKeys.ts"
import { standingOf } from "./Translate.ts"
import { Payment } from "./Wire.ts"

// RFC 9421 as pawaPay uses it: one signature, ECDSA over P-256, over the components that `Signature-Input` lists.

const INPUT = /^([a-z*][\w.*-]*)=(\(((?:"[^"\s;]+" ?)*)\)((?:;[a-z*][\w.*-]*=(?:"[^"]*"|-?\d+))*))$/
const ALGORITHM = "ecdsa-p256-sha256"
/** The same keys sign all merchants' callbacks: without our address in the signature, those of others would be accepted. */
const REQUIRED = ["@method", "@authority", "@path", "content-digest"]
const RAW_SIGNATURE_BYTES = 64

/**
 * A callback is genuine when its digest matches its body and its signature, over the digest and our own address, was made by
 * one of the keys. Its age is not checked: a callback only triggers a poll, so a replay changes nothing.
 *
 * Our own address begins with one of `hosts`. Without any, it is whatever the `Host` header says: another merchant who knows
 * the path could then have pawaPay sign a callback for a host of theirs, and forward it to us with that `Host`.
 */
export const pawapayCallbacks = ({ current, refreshKeys }: CallbackKeys, hosts: ReadonlyArray<string>): Callbacks => ({
  verify: (callback) => {
    const { headers } = callback
    const [, label, params = "", list = "", parameters = ""] = INPUT.exec(headers["signature-input"] ?? "") ?? []
    const signature = signatureOf(headers["signature"] ?? "", label)
    const components = [...list.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => name)
    const bases = (hosts.length === 0 ? [authorityOf(headers["host"] ?? "")] : hosts).flatMap((host) => {
      const base = baseOf(components, params, callback, host)
      return base === undefined ? [] : [base]
    })
    if (signature === undefined || !isDigestOf(headers["content-digest"] ?? "", callback.body)) return Option.none()
    const { alg = ALGORITHM, keyid } = parametersOf(parameters)
    const keys = current().filter(({ id }) => id === null || keyid === undefined || id === keyid)
    return alg === ALGORITHM && keys.some(({ key }) => bases.some((base) => isSignedBy(key, base, signature)))
      ? Option.some(hintOf(callback.body))
      : Option.none()
  },
  ...(refreshKeys === undefined ? {} : { refreshKeys })
})

/** As in a signature. */
export const authorityOf = (host: string): string => host.toLowerCase().replace(/:(80|443)$/, "")

const signatureOf = (header: string, label: string | undefined): Buffer | undefined => {
  const [, named, text] = /^([a-z*][\w.*-]*)=:([A-Za-z0-9+/=]+):$/.exec(header) ?? []
  return text === undefined || named !== label ? undefined : Buffer.from(text, "base64")
}

const parametersOf = (text: string): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries([...text.matchAll(/;([^=;]+)="?([^";]*)"?/g)].map(([, name = "", value = ""]) => [name, value]))

const baseOf = (components: ReadonlyArray<string>, params: string, callback: RawCallback, host: string): string | undefined => {
  if (REQUIRED.some((name) => !components.includes(name)) || new Set(components).size !== components.length) return undefined
  const lines = components.map((name) => {
    const value = valueOf(name, callback, host)
    return value === undefined ? undefined : `"${name}": ${value}`
  })
  return lines.includes(undefined) ? undefined : [...lines, `"@signature-params": ${params}`].join("\n")
}

const valueOf = (name: string, { headers, method, path }: RawCallback, host: string): string | undefined => {
  switch (name) {
    case "@method":
      return method
    case "@authority":
      return host === "" ? undefined : host
    case "@path":
      return path
    default:
      // Only a header that was sent: the object has members of its own, too.
      return Object.hasOwn(headers, name) ? headers[name]?.trim() : undefined
  }
}

/** All named digests with a hash function that we support must match, and there must be at least one. */
const isDigestOf = (header: string, body: Uint8Array): boolean => {
  const known = [...header.matchAll(/(?:^|,)\s*(sha-512|sha-256)=:([A-Za-z0-9+/=]+):/g)]
  return (
    known.length > 0 &&
    known.every(([, name = "", text]) => createHash(name.replace("-", "")).update(body).digest("base64") === text)
  )
}

// The standard concatenates the two numbers; pawaPay sends DER. Both encode the same signature.
const isSignedBy = (key: KeyObject, base: string, signature: Buffer): boolean =>
  verify(
    "sha256",
    Buffer.from(base),
    { key, dsaEncoding: signature.length === RAW_SIGNATURE_BYTES ? "ieee-p1363" : "der" },
    signature
  )

const hintOf = hintReader(Payment, ({ clientReferenceId: reference, depositId, payoutId, status }) => {
  const id = payoutId ?? depositId ?? ""
  return { reference, id: UUID.test(id) ? id.toLowerCase() : null, says: standingOf(status) }
})
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
