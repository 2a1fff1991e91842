import { timingSafeEqual } from "node:crypto"
import { Clock, Context, Effect, Option, Redacted, Schema } from "effect"
import type { Instant } from "../domain/Instant.ts"
import { consoleActor, type Operator, OperatorName, type OperatorRole } from "../domain/Operator.ts"
import { layerOf } from "../runtime/ServiceLayer.ts"
import { ConsoleSessions, type FailedLogInCount } from "./ports/ConsoleSessions.ts"
import { Operators } from "./ports/Operators.ts"
import { RandomSource } from "./ports/RandomSource.ts"
import { Vault } from "./ports/Vault.ts"

const MINUTE_MS = 60_000
/** A session expires after it was idle this long, or this long after it began. */
const SESSION_LIMITS = { idleMs: 30 * MINUTE_MS, longestMs: 12 * 60 * MINUTE_MS } as const
/**
 * How many wrong tokens within this time lock a name for one client, or all names for one client, until the time is over. A
 * name is never locked for every client, because an attacker who knows it could lock its owner out. Tokens are 256 random bits,
 * which cannot be guessed from many clients either.
 */
const LOCK_OUT = { ofName: 10, ofClient: 50, withinMs: 10 * MINUTE_MS } as const
const SECRET_BYTES = 32

/** The name and token that were entered, and the client's address. */
export interface Attempt {
  readonly name: string
  readonly token: Redacted.Redacted
  readonly address: string
  /** The client for which wrong tokens are counted: the address, or the network of one subscriber. */
  readonly client: string
  /** The session that the browser already holds. */
  readonly replaces: Redacted.Redacted | null
}

/** A signed-in operator, and the token that every form of the session must contain. */
export interface Visitor extends Operator {
  readonly session: Redacted.Redacted
  readonly formToken: string
}

/**
 * Log-ins to the console. Sessions and tokens are 256 random bits, stored as keyed hashes. A name that does not exist takes as
 * long as a wrong token and gets the same answer; so does one that is locked out.
 */
export class SignIn extends Context.Service<
  SignIn,
  {
    /** The new session, as the browser stores it; none when the token is wrong, the name is unknown, or either is locked out. */
    readonly logIn: (attempt: Attempt) => Effect.Effect<Option.Option<Redacted.Redacted>>
    /** None when the session has expired or never existed. `counts`: the person is active, which keeps the session alive. */
    readonly visitor: (session: Redacted.Redacted, counts: boolean) => Effect.Effect<Option.Option<Visitor>>
    readonly logOut: (visitor: Visitor) => Effect.Effect<void>
    /** A new operator's account and its token, which is stored nowhere else. */
    readonly newAccount: (
      name: OperatorName,
      role: OperatorRole
    ) => Effect.Effect<{ readonly token: string; readonly account: Operator & { readonly tokenHash: Uint8Array } }>
  }
>()("gateway/services/SignIn") {
  static readonly layer = layerOf(SignIn)(function* () {
    const operators = yield* Operators
    const sessions = yield* ConsoleSessions
    const randomSource = yield* RandomSource
    const vault = yield* Vault
    const secret = Effect.map(randomSource.secret(SECRET_BYTES), (bytes) => Buffer.from(bytes).toString("hex"))
    const hashOf = (session: Redacted.Redacted) => vault.hash("console_session", session)

    const isRight = Effect.fnUntraced(function* ({ name, token }: Attempt) {
      const given = vault.hash("operator_token", token)
      const found = isName(name) ? yield* operators.find(name) : Option.none()
      // Compared for an unknown name as well, so that it takes the same time.
      const expected = Option.match(found, { onNone: () => new Uint8Array(given.length), onSome: ({ tokenHash }) => tokenHash })
      return timingSafeEqual(given, expected) ? found : Option.none()
    })

    const refused = Effect.fnUntraced(function* (limits: ReadonlyMap<string, number>, at: Instant) {
      const counted = yield* sessions.countFailure([...limits.keys()], at, at - LOCK_OUT.withinMs)
      for (const { failures, subject } of counted)
        if (failures === limits.get(subject))
          yield* sessions.recordLockOut({ at, actor: "console", action: "console lock-out", subject, details: {} })
      return Option.none<Redacted.Redacted>()
    })

    const logIn = Effect.fn("SignIn.logIn")(function* (attempt: Attempt) {
      const at = yield* Clock.currentTimeMillis
      const limits = limitsOf(attempt)
      const failed = yield* sessions.failures([...limits.keys()], at - LOCK_OUT.withinMs)
      const found = yield* isRight(attempt)
      // An attempt during a lock-out is not recorded, because that would only fill the database.
      if (failed.some(isLockedOut(limits))) return Option.none<Redacted.Redacted>()
      if (Option.isNone(found)) return yield* refused(limits, at)
      const { name, role } = found.value
      const session = Redacted.make(`${accountIn(found.value)}${yield* secret}`)
      const replaces = attempt.replaces === null ? null : hashOf(attempt.replaces)
      const audit = {
        at,
        actor: consoleActor(name),
        action: "console log-in",
        subject: name,
        details: { role, address: attempt.address }
      }
      yield* sessions.begin({ tokenHash: hashOf(session), operator: name, at, replaces }, SESSION_LIMITS, audit)
      return Option.some(session)
    })

    const visitor = Effect.fn("SignIn.visitor")(function* (session: Redacted.Redacted, counts: boolean) {
      const at = yield* Clock.currentTimeMillis
      const found = yield* sessions.find(hashOf(session), at, SESSION_LIMITS, counts)
      const formToken = Buffer.from(vault.hash("console_form", session)).toString("hex")
      const own = Option.filter(found, (operator) => Redacted.value(session).startsWith(accountIn(operator)))
      return Option.map(own, (operator): Visitor => ({ ...operator, session, formToken }))
    })

    const logOut = Effect.fn("SignIn.logOut")(function* ({ name, session }: Visitor) {
      const at = yield* Clock.currentTimeMillis
      yield* sessions.end(hashOf(session), {
        at,
        actor: consoleActor(name),
        action: "console log-out",
        subject: name,
        details: {}
      })
    })

    const newAccount = Effect.fn("SignIn.newAccount")(function* (name: OperatorName, role: OperatorRole) {
      const token = `op_${yield* secret}`
      const tokenHash = vault.hash("operator_token", Redacted.make(token))
      return { token, account: { name, role, createdAt: yield* Clock.currentTimeMillis, tokenHash } }
    })

    return { logIn, visitor, logOut, newAccount }
  })
}

const isName = Schema.is(OperatorName)

/**
 * The account's name and creation time are part of the hashed text. So a session's row with another name does not match, nor
 * does a session of a removed account for a new account of the same name.
 */
const accountIn = ({ createdAt, name }: Operator): string => `${name}:${createdAt}:`

/**
 * The counters of wrong tokens for an attempt, each with its limit. A name that no operator can have is counted by its client
 * alone, so that arbitrary names cannot fill the table.
 */
const limitsOf = ({ client, name }: Attempt): ReadonlyMap<string, number> =>
  new Map([
    [`address ${client}`, LOCK_OUT.ofClient],
    ...(isName(name) ? [[`name ${name} from ${client}`, LOCK_OUT.ofName] as const] : [])
  ])

const isLockedOut =
  (limits: ReadonlyMap<string, number>) =>
  ({ failures, subject }: FailedLogInCount): boolean =>
    failures >= (limits.get(subject) ?? LOCK_OUT.ofName)
