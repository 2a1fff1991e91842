import { randomUUID } from "node:crypto"
import { readFile } from "node:fs/promises"
import { type Schema, verbatim } from "../../typescript/src/Gateway.ts"
import { stringify } from "../../typescript/src/Json.ts"
import { choice, command, text, toggle } from "./CommandLine.ts"
import { Refusal, Unfinished, WrongUsage } from "./Refusal.ts"
import { type Screen, statusOf, table } from "./Screen.ts"
import { openSession, profileOption, type Session } from "./Session.ts"

export type PaymentKind = "payout" | "collection"

const referenceArgument = { name: "REFERENCE", description: "the reference that `create` answered, or `list` shows" }

export const amountOption = text("a whole number of the currency's smallest unit, more than zero", /^[1-9]\d{0,15}$/)
const keyOption = text(
  "names this request: the same key again never moves money twice; a new one is made and shown if it is left out"
)
const waitOption = toggle("follow it until it is settled")

/** What every request to move money takes. `body` stands for all members of the request; the others are its members. */
const requestOptions = {
  "amount-minor": amountOption,
  currency: text("the currency, such as UGX", /^[A-Z]{3}$/),
  country: text("two capital letters, such as UG"),
  msisdn: text("the mobile-money number with its country's prefix, such as 256772123456"),
  network: text("the mobile network, such as MTN"),
  narration: text("what the person is shown, at most 140 characters"),
  metadata: text("a JSON object of your own, echoed digit by digit"),
  body: text("a file with the whole JSON body; then no other member is given"),
  "idempotency-key": keyOption,
  wait: waitOption,
  profile: profileOption
}

type Members = Readonly<Record<string, unknown>>
type Request = Readonly<Partial<Record<Exclude<keyof typeof requestOptions, "wait">, string | undefined>>> & {
  readonly wait: boolean
}

const payoutCreate = command({
  name: "payout create",
  description: "Pay somebody from your float, once however often it is run with the same idempotency key",
  options: {
    ...requestOptions,
    method: choice("how it is paid; momo if left out", ["momo", "bank", "wallet"]),
    "bank-code": text("of the bank, for method bank"),
    "account-number": text("for method bank"),
    "account-name": text("the account's holder, for method bank"),
    tag: text("the wallet, for method wallet"),
    "destination-currency": text("what is delivered, where that is another currency; then --amount-type as well", /^[A-Z]{3}$/),
    "amount-type": choice("which of the two the amount is", ["SOURCE", "DESTINATION"])
  },
  examples: [
    "gateway payout create --amount-minor 10000 --currency UGX --country UG --msisdn 256772123456 --network MTN --wait",
    "gateway payout create --body payout.json --idempotency-key order-7"
  ],
  run: (given, screen) =>
    create(screen, "payout", given, {
      members: {
        method: given.method,
        amount_type: given["amount-type"],
        destination_currency: given["destination-currency"]
      },
      party: {
        msisdn: given.msisdn,
        network: given.network,
        bank_code: given["bank-code"],
        account_number: given["account-number"],
        account_name: given["account-name"],
        tag: given.tag
      }
    })
})

const collectionCreate = command({
  name: "collection create",
  description: "Charge a payer, once however often it is run with the same idempotency key",
  options: {
    ...requestOptions,
    method: choice("how it is paid; momo if left out", ["momo", "bank", "card"]),
    "redirect-url": text("where the payer goes on afterwards, for the corridors that need it")
  },
  examples: [
    "gateway collection create --amount-minor 10000 --currency UGX --country UG --msisdn 256772123456 --network MTN --wait"
  ],
  run: (given, screen) =>
    create(screen, "collection", given, {
      members: { method: given.method, redirect_url: given["redirect-url"] },
      party: { msisdn: given.msisdn, network: given.network }
    })
})

/** Asks for money to move, and prints what came of it, now or when it is settled. */
const create = async (
  screen: Screen,
  kind: PaymentKind,
  given: Request & { readonly method?: string | undefined },
  { members, party }: { readonly members: Members; readonly party: Members }
): Promise<void> => {
  const session = await openSession(screen, given.profile)
  const { "amount-minor": amount, country, currency, metadata, method: type = "momo", narration } = given
  const body = await bodyOf(given.body, {
    amount_minor: amount === undefined ? undefined : BigInt(amount),
    currency,
    country,
    narration,
    metadata: metadata === undefined ? undefined : verbatim(checked(metadata)),
    ...members,
    ...(Object.values(party).every((value) => value === undefined)
      ? {}
      : { method: type, [kind === "payout" ? "destination" : "source"]: { type, country, ...party } })
  })
  const made = await place(screen, session, kind, { body, key: given["idempotency-key"] })
  if (given.wait) showEnd(screen, await follow(screen, session, made))
  else show(screen, made)
}

/** The metadata as it was typed, if it is JSON at all. */
const checked = (metadata: string): string => {
  try {
    JSON.parse(metadata)
    return metadata
  } catch {
    throw new WrongUsage("--metadata is no JSON: give an object such as '{\"order\":7}'")
  }
}

/** The text of a request: the file's very text, or the members that were given. */
const bodyOf = async (file: string | undefined, members: Members): Promise<string> => {
  if (file !== undefined) {
    const named = Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [name]))
    if (named.length > 0) throw new WrongUsage(`--body has all members: leave out ${named.join(", ")}`)
    const bytes = await readFile(file).catch(() => {
      throw new Refusal(`cannot read ${file}`)
    })
    return textOf(bytes, file)
  }
  const missing = ["amount_minor", "currency", "country"].filter((name) => members[name] === undefined)
  if (missing.length > 0) {
    const options = missing.map((name) => `--${name.replace("_", "-")}`)
    throw new WrongUsage(`give ${options.join(", ")}, or --body with a whole request`)
  }
  return stringify(members)
}

/** Read as UTF-8 all the same, a name in another encoding would be sent with other characters in it. */
const textOf = (bytes: Uint8Array, file: string): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    throw new Refusal(`${file} is not UTF-8: save it as such`)
  }
}

/** A key that the command line made is shown before anything is sent, so that it can be asked again whatever happens. */
const keyOr = (screen: Screen, given: string | undefined): string => {
  const key = given ?? randomUUID()
  if (given === undefined) screen.note(`idempotency key ${key}`)
  return key
}

/** Asks for money to move. An answer that says no more than its reference becomes the transaction. */
export const place = (
  screen: Screen,
  session: Session,
  kind: PaymentKind,
  request: { readonly body: string; readonly key?: string | undefined }
): Promise<Schema.Transaction> => {
  const idempotencyKey = keyOr(screen, request.key)
  return session.call<Schema.Transaction>(
    (gateway, options) => {
      const all = { idempotencyKey, ...options }
      return kind === "payout"
        ? gateway.payouts.create(verbatim(request.body), all)
        : gateway.collections.create(verbatim(request.body), all)
    },
    { key: idempotencyKey }
  )
}

/** The first comes soon, because most are settled within a second. */
const FIRST_POLL_MS = 150
const FOLLOW_MS = 120_000

/** Polls a transaction until it is settled or its payer has to do something. Each change of status is a line on standard error. */
export const follow = async (screen: Screen, session: Session, first: Schema.Transaction): Promise<Schema.Transaction> => {
  const { kind, reference } = first
  let last = first
  let shown = ""
  const until = (record: Schema.Transaction): boolean => {
    last = record
    if (shown !== record.status) screen.note(`${reference} is ${record.status}`)
    shown = record.status
    return record.status !== "pending"
  }
  if (until(first)) return first
  const wait = { until, pauseMs: FIRST_POLL_MS, timeoutMs: FOLLOW_MS }
  const settled = session.call<unknown>((gateway, options) =>
    (kind === "payout" ? gateway.payouts : gateway.collections).waitFor(reference, { ...wait, ...options })
  )
  await settled.catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== "still_open") throw error
    screen.note(`${reference} is still pending after ${FOLLOW_MS / 1000} s: ask later with gateway ${kind} get ${reference}`)
  })
  return last
}

/** One transaction: a line that says how it stands, and then every member. */
export const show = (screen: Screen, view: Schema.Transaction): void => {
  if (!screen.asJson) screen.line(`${view.kind} ${view.reference} is `, statusOf(view.status))
  screen.result(view)
  if (!screen.asJson && view.needs_review) {
    screen.line()
    screen.line("An operator has to establish what happened: reverse nothing and pay nothing again until needs_review is false")
  }
  if (!screen.asJson && view.status === "requires_action") {
    screen.line()
    screen.line(
      `The payer has to do something first, see next_action. With a one-time code: gateway collection authorize ${view.reference}`
    )
  }
}

/** The same of one that was followed, with an exit code that says whether it was paid: who runs a command after this one relies on it. */
const showEnd = (screen: Screen, view: Schema.Transaction): void => {
  show(screen, view)
  const { failure, kind, needs_review, reference, status } = view
  const isOver = (status === "failed" || status === "expired") && !needs_review
  if (isOver) throw new Refusal(`${kind} ${reference} is ${status}${failure === null ? "" : `: ${failure.message}`}`)
  if (status !== "successful" && status !== "requires_action") throw new Unfinished(`${kind} ${reference} is not settled yet`)
}

const getCommand = (kind: PaymentKind) =>
  command({
    name: `${kind} get`,
    description: `Show one ${kind} of yours as it is now`,
    argument: referenceArgument,
    options: { profile: profileOption },
    examples: [`gateway ${kind} get AAA688MG9KT6BQ76F4NM4BJRH5`],
    run: async ({ profile }, screen, reference) => {
      const session = await openSession(screen, profile)
      show(
        screen,
        await session.call<Schema.Transaction>((gateway, options) =>
          (kind === "payout" ? gateway.payouts : gateway.collections).get(reference, options)
        )
      )
    }
  })

const columns = ["reference", "status", "amount_minor", "amount_currency", "masked_destination", "created_at"]

const listCommand = (kind: PaymentKind) =>
  command({
    name: `${kind} list`,
    description: `List your ${kind}s, newest first`,
    options: {
      status: text("only this status"),
      currency: text("only this currency"),
      from: text("created at this moment or later, such as 2026-01-31T12:00:00.000Z"),
      to: text("created before this moment"),
      "completed-from": text("completed at this moment or later; the last completed first"),
      "completed-to": text("completed before this moment; the last completed first"),
      "updated-from": text("changed at this moment or later; the last changed last"),
      metadata: text("only with this member of metadata, as KEY=VALUE"),
      "idempotency-key": text("only what this key created"),
      limit: text("how many, from 1 to 100; 20 if left out", /^\d+$/),
      cursor: text("the next page, as the last one named it"),
      profile: profileOption
    },
    examples: [`gateway ${kind} list --status failed --limit 5`],
    run: async (given, screen) => {
      const session = await openSession(screen, given.profile)
      const { currency, cursor, from: created_from, limit, metadata, status, to: created_to } = given
      const [, member, value] = /^([^=]*)=?(.*)$/s.exec(metadata ?? "") ?? []
      const page = await session.call((gateway, options) =>
        gateway.transactions.page(
          {
            kind,
            status,
            currency,
            created_from,
            created_to,
            completed_from: given["completed-from"],
            completed_to: given["completed-to"],
            updated_from: given["updated-from"],
            ...(member ? { [`metadata.${member}`]: value } : {}),
            idempotency_key: given["idempotency-key"],
            limit,
            cursor
          },
          options
        )
      )
      const rows = page.items.map((item) => ({ ...item }))
      screen.result(page, table(rows, columns))
      if (page.next_cursor !== null) screen.note(`there are more: --cursor ${page.next_cursor}`)
    }
  })

const authorize = command({
  name: "collection authorize",
  description: "Give the one-time code that a collection waits for",
  argument: referenceArgument,
  options: {
    "pin-id": text("which code: `next_action.pin_id` of the collection"),
    pin: text("the code that the payer got; 123456 at the simulator"),
    msisdn: text("the payer's number, as in the collection"),
    network: text("the payer's mobile network"),
    "idempotency-key": keyOption,
    wait: waitOption,
    profile: profileOption
  },
  examples: [
    "gateway collection authorize AAA688MG9KT6BQ76F4NM4BJRH5 --pin-id PIN_ID --pin 123456 --msisdn 254712345678 --network MPESA"
  ],
  run: async ({ "idempotency-key": given, msisdn, network, pin, "pin-id": pinId, profile, wait }, screen, reference) => {
    const session = await openSession(screen, profile)
    const idempotencyKey = keyOr(screen, given)
    const body = { authorization: { type: "otp", otp: { pin_id: pinId, pin } }, source: { type: "momo", msisdn, network } }
    const made = await session.call(
      (gateway, options) => gateway.collections.authorize(reference, verbatim(stringify(body)), { idempotencyKey, ...options }),
      { key: idempotencyKey }
    )
    if (wait) showEnd(screen, await follow(screen, session, made))
    else show(screen, made)
  }
})

export const transactionCommands = [
  payoutCreate,
  getCommand("payout"),
  listCommand("payout"),
  collectionCreate,
  getCommand("collection"),
  listCommand("collection"),
  authorize
]
