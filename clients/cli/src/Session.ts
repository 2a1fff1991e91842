import { randomBytes } from "node:crypto"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import {
  type AmbiguousError,
  type CallOptions,
  Gateway,
  type GatewayOptions,
  isGatewayError,
  type Key,
  type RetriableError,
  type TerminalError
} from "../../typescript/src/Gateway.ts"
import { isKeyPart } from "../../typescript/src/Signing.ts"
import { text } from "./CommandLine.ts"
import { Refusal, Unfinished } from "./Refusal.ts"
import type { Screen } from "./Screen.ts"

/** A gateway's address and one key for it, as `gateway login` keeps them. */
export interface Profile extends Key {
  readonly url: string
  /** Of the key; null where its file did not say. */
  readonly mode: string | null
}

export const profileOption = text(
  "which login to use: 1 to 40 letters, digits, _ and -; `default` if left out",
  /^[A-Za-z0-9_-]{1,40}$/
)

/** Whether a host's name leads to this machine and nowhere else. */
export const isLoopback = (url: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname)

const isText = (value: unknown): value is string => typeof value === "string"

/** The members of a file with a key, or with a login; nothing where it is neither. */
export const keyIn = (json: string): (Key & { readonly url?: unknown; readonly mode?: unknown }) | undefined => {
  try {
    const { api_key, app_id, key_id, signing_secret, ...more } = JSON.parse(json)
    const isKey = [api_key, app_id, key_id, signing_secret].every(isKeyPart)
    return isKey ? { ...more, api_key, app_id, key_id, signing_secret } : undefined
  } catch {
    return undefined
  }
}

/** Logins are in the user's own configuration folder, one file each, readable by that user only. */
const fileOf = ({ terminal: { environment } }: Screen, name: string): string => {
  const { HOME, XDG_CONFIG_HOME } = environment
  if (!XDG_CONFIG_HOME && !HOME) throw new Refusal("set HOME or XDG_CONFIG_HOME: logins are kept there")
  return join(XDG_CONFIG_HOME || join(HOME ?? "", ".config"), "payment-gateway", `${name}.json`)
}

/** Replaces a login of the same name as a whole, and answers its file. */
export const saveProfile = async (screen: Screen, name: string, profile: Profile): Promise<string> => {
  const file = fileOf(screen, name)
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  try {
    await mkdir(join(file, ".."), { recursive: true, mode: 0o700 })
    await writeFile(draft, `${JSON.stringify(profile)}\n`, { mode: 0o600, flag: "wx" })
    await rename(draft, file)
  } catch (cause) {
    throw new Refusal(`cannot write ${file}: ${String(cause)}`)
  }
  return file
}

/** The gateway with the login of that name. */
export const openSession = async (screen: Screen, name = "default"): Promise<Session> => {
  const kept = keyIn(await readFile(fileOf(screen, name), "utf8").catch(() => ""))
  if (kept !== undefined && isText(kept.url))
    return new Session(screen, { ...kept, url: kept.url, mode: isText(kept.mode) ? kept.mode : null })
  const flag = name === "default" ? "" : ` --profile ${name}`
  throw new Refusal(`there is no login ${name}: make one with gateway login${flag}`)
}

type Known = TerminalError | RetriableError | AmbiguousError

/** Longer than the gateway waits for any provider. */
const TIMEOUT_MS = 60_000
/** A clock that is off by more is worth a word when a signature was refused. */
const SKEW_SECONDS = 20

/** Retriable, but not by the same command. */
const needsPerson: ReadonlySet<string> = new Set(["unauthorized", "otp_incorrect"])

/** Calls the gateway for a person, who reads in one line what went wrong and what to do. Each request is sent once, unless it says otherwise. */
export class Session {
  readonly profile: Profile
  readonly #gateway: Gateway
  readonly #patient: Gateway
  readonly #signal: AbortSignal
  /** This machine's clock against the gateway's, as its last answer has it. */
  #secondsAhead = 0

  constructor({ terminal: { signal } }: Screen, profile: Profile) {
    this.profile = profile
    this.#signal = signal
    const settings: GatewayOptions = {
      url: profile.url,
      key: profile,
      timeoutMs: TIMEOUT_MS,
      fetch: async (request, options) => {
        const response = await fetch(request, options)
        this.#secondsAhead = Math.round((Date.now() - Date.parse(response.headers.get("date") ?? "")) / 1000)
        return response
      }
    }
    this.#gateway = new Gateway({ ...settings, retries: { attempts: 1 } })
    this.#patient = new Gateway(settings)
  }

  /** With `key`, the call moves money. Its `signal` is the command's unless another is given. With long patience it is sent again as the client does it. */
  async call<A>(
    ask: (gateway: Gateway, options: CallOptions) => Promise<A>,
    {
      key,
      patience,
      signal = this.#signal
    }: { readonly key?: string; readonly signal?: AbortSignal; readonly patience?: "long" } = {}
  ): Promise<A> {
    try {
      return await ask(patience === "long" ? this.#patient : this.#gateway, { signal })
    } catch (error) {
      if (!isGatewayError(error)) throw error
      const isOpen = key !== undefined && error.class !== "terminal" && !needsPerson.has(error.code)
      const Ended = isOpen ? Unfinished : Refusal
      throw new Ended(this.#explained(error, key === undefined ? "" : ` with --idempotency-key ${key}`), error.code)
    }
  }

  #explained(error: Known, key: string): string {
    if (error.code === "no_answer") return `${this.#silence(error)}${key === "" ? "" : accepted(key)}`
    const issues = error.code === "validation_failed" ? error.details.issues.map(({ message, path }) => `${path} ${message}`) : []
    const said = issues.length === 0 ? error.message : `${error.code}: ${issues.join("; ").trim()}`
    return `${said}${/[.!]$/.test(said) ? "" : "."} ${this.#advice(error, key)}`
  }

  #silence({ cause, status }: Known): string {
    const { url } = this.profile
    // The gateway's own answer, which proves nothing about an earlier request with the key.
    if (isGatewayError(cause)) return `${cause.message.replace(/[.!]$/, "")}.`
    if (status !== undefined) return `${url} answered ${status}, and not as a payment gateway does: is it the right address?`
    return `no answer from ${url} (${reasonOf(cause)}).`
  }

  #advice({ class: kind, code, reference, retryAfterSeconds }: Known, key: string): string {
    if (code === "unauthorized") return this.#clockAdvice()
    if (code === "otp_incorrect") return "Ask the payer for the code again."
    // Another key for the same payment would pay twice.
    if (code === "idempotency_key_reused")
      return `The key's first request had another body, and its outcome stands: look at it with list${key.replace(" with", "")}, and take another key only for another payment.`
    if (kind === "terminal") return "It will not succeed as it is: change it."
    if (kind === "retriable")
      return `Nothing moved: run it again${retryAfterSeconds === undefined ? "" : ` in ${retryAfterSeconds} s`}${key}.`
    const next = reference === undefined ? `run it again${key}` : `ask again with get ${reference}`
    return `Money may have moved: ${next}, and send nothing else meanwhile.`
  }

  #clockAdvice(): string {
    const off = this.#secondsAhead
    if (Math.abs(off) > SKEW_SECONDS)
      return `This machine's clock is ${Math.abs(off)} s ${off > 0 ? "ahead of" : "behind"} the gateway's: set it.`
    return "The key was revoked, or is another gateway's: log in again."
  }
}

/** Silence is no refusal: the same key asks again without doing it twice. */
const accepted = (key: string): string => ` It may have been accepted: run the same command${key}, which never does it twice`

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  const { cause: inner } = cause
  if (!(inner instanceof Error)) return cause.message
  return "code" in inner && isText(inner.code) ? inner.code : inner.message
}
