import { setTimeout as pause } from "node:timers/promises"
import { callbackPaths } from "../chaos/Callbacks.ts"
import type { Fault } from "./Fault.ts"
import { bankPayoutOf, madeElsewhere, payoutOf } from "./Requests.ts"
import { eventually, referenceOf, type Scene, settled, type Tenant } from "./Scene.ts"

const nothing = async () => undefined

/** Played beside everything else: it takes ten minutes. */
export const outcomeUnknown = ({ must, sql, tenant }: Scene): Fault => ({
  about: "a payout whose answer never comes, until an operator has acknowledged it",
  alerts: ["OutcomeUnknown"],
  how: "real",
  withinSeconds: 720,
  begin: async () => {
    const payer = await tenant("unknown", 100_000)
    await payer.post("/v1/payouts", payoutOf("0004"))
  },
  mend: async () => {
    // Those that other faults left open as well.
    for (const { reference } of await sql("SELECT reference FROM open_work WHERE is_open"))
      await must("review", "acknowledge", String(reference), "--note", "asked their support")
  }
})

/** Played beside everything else: polls that are an hour apart count as one fault, of which the end takes minutes here. */
export const accountUnset = ({ must, sql, tenant }: Scene): Fault => {
  let reference = ""
  let own = ""
  const sentWith = async (account: string) => {
    const [row] = await sql(
      `WITH o AS (SELECT record ->> 'account' AS own FROM transactions WHERE reference = $1)
      UPDATE transactions t SET record = jsonb_set(t.record::jsonb, '{account}', to_jsonb($2::text))::json FROM o
      WHERE t.reference = $1 RETURNING o.own`,
      [reference, account]
    )
    return String(row?.["own"])
  }
  return {
    about: "a payout that was sent with an account that is in no settings, until it is (set back)",
    alerts: ["AccountUnset"],
    how: "set back",
    beside: ["OutcomeUnknown"],
    begin: async () => {
      const payer = await tenant("unset", 100_000)
      reference = referenceOf(await payer.post("/v1/payouts", payoutOf("0010")))
      own = await sentWith("0123456789abcdef")
      await sql("UPDATE open_work SET next_poll_at = now() WHERE reference = $1", [reference])
    },
    mend: async () => {
      await sentWith(own)
      await must("review", "acknowledge", reference, "--note", "its account is set again")
    },
    endsWithinSeconds: 420
  }
}

/** What a provider does wrong. */
export const providerFaults = (scene: Scene): ReadonlyArray<Fault> => [
  callbacksRefused(scene),
  providerFailing(scene),
  providerTurnsAway(scene),
  walletEmpty(scene),
  providerSilent(scene)
]

const callbacksRefused = ({ stage }: Scene): Fault => ({
  about: "callbacks that the provider did not sign, until no more come",
  alerts: ["CallbacksRefused"],
  how: "real",
  begin: async () => {
    const [account] = await callbackPaths(stage)
    for (let sent = 0; sent < 10; sent++)
      await fetch(`${stage.gateways[0].url}${account?.callback_path}`, { method: "POST", body: "{}" })
  },
  mend: nothing
})

const providerFailing = ({ control, tenant }: Scene): Fault => {
  let payer: Tenant | undefined
  return {
    about: "a provider that refuses connections, until it accepts them",
    alerts: ["ProviderFailing"],
    how: "real",
    beside: ["CircuitOpen"],
    begin: async () => {
      payer = await tenant("refused", 100_000)
      await control("/down", { provider: "eversend", down: true })
      for (let sent = 0; sent < 4; sent++) await payer.post("/v1/payouts", payoutOf("1000", 1_000 + sent))
    },
    mend: async () => {
      await control("/down", { provider: "eversend", down: false })
      await eventually(
        async () => payer?.post("/v1/payouts", payoutOf("1000", 2_000)),
        (answer) => answer?.status === 201
      )
    }
  }
}

const TURNED_AWAY_PAYOUTS = 6

const providerTurnsAway = ({ control, tenant }: Scene): Fault => {
  const setRate = (calls_per_second: number | null) =>
    control("/rate", { provider: "eversend", calls_per_second, retry_after_seconds: 0 })
  return {
    about: "a provider that turns every call away, until it takes them again",
    alerts: ["ProviderTurnsAway"],
    how: "real",
    begin: async () => {
      const payer = await tenant("turned-away", 100_000)
      await setRate(0)
      for (let sent = 0; sent < TURNED_AWAY_PAYOUTS; sent++) await payer.post("/v1/payouts", payoutOf("1000", 4_000 + sent))
    },
    mend: async () => void (await setRate(null))
  }
}

const walletEmpty = ({ tenant }: Scene): Fault => ({
  about: "a wallet at a provider that is too small for a payout, until no more are refused",
  alerts: ["WalletEmpty"],
  how: "real",
  begin: async () => void (await (await tenant("poor", 100_000)).post("/v1/payouts", payoutOf("0013", 5_000))),
  mend: nothing
})

const SILENT_PAYOUTS = 6

const providerSilent = ({ tenant }: Scene): Fault => {
  let next = async () => 0
  return {
    about: "a provider that takes payouts and does not answer, until it answers again",
    alerts: ["ProviderSilent", "CircuitOpen"],
    how: "real",
    beside: ["ProviderFailing"],
    begin: async () => {
      const payer = await tenant("unanswered", 100_000)
      next = async () => (await payer.post("/v1/payouts", payoutOf("1000", 3_000)))?.status ?? 0
      const silent = Array.from({ length: SILENT_PAYOUTS }, (_, at) => payer.post("/v1/payouts", payoutOf("0004", 1_000 + at)))
      await Promise.all(silent)
    },
    mend: async () => void (await eventually(next, (status) => status === 201))
  }
}

const REFUSED_PAYOUTS = 60
const REFUSED_AT_ONCE = 10
/** So that the first of the corridor is in a scrape of its own. */
const SCRAPES_MS = 3_000

/** Played beside others: the few are seen for an hour, which is four minutes here. */
export const refusedPayouts = ({ tenant }: Scene): Fault => ({
  about: "payouts to banks that the provider refuses, until no more come",
  alerts: ["FewSucceed", "SuccessRateFell"],
  how: "real",
  begin: async () => {
    const payer = await tenant("refused-by-banks", 1_000_000)
    const pay = (at: number) => payer.post("/v1/payouts", bankPayoutOf("0001", 10_000 + at))
    await pay(REFUSED_PAYOUTS)
    await pause(SCRAPES_MS)
    for (let sent = 0; sent < REFUSED_PAYOUTS; sent += REFUSED_AT_ONCE)
      await Promise.all(Array.from({ length: REFUSED_AT_ONCE }, (_, at) => pay(sent + at)))
  },
  mend: nothing,
  endsWithinSeconds: 420
})

export const pollsLate = ({ sql, tenant }: Scene): Fault => ({
  about: "polls that no node can take, because their rows cannot be leased, until they can",
  alerts: ["PollsLate"],
  how: "set back",
  begin: async () => {
    const payer = await tenant("unpolled", 100_000)
    await sql("CREATE FUNCTION refuse_lease() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''read only''; END'")
    await sql(
      "CREATE TRIGGER no_lease BEFORE UPDATE ON open_work FOR EACH ROW WHEN (NEW.lease_until IS NOT NULL) EXECUTE FUNCTION refuse_lease()"
    )
    const reference = referenceOf(await payer.post("/v1/payouts", payoutOf("0008")))
    await sql("UPDATE open_work SET next_poll_at = next_poll_at - interval '10 minutes' WHERE reference = $1", [reference])
  },
  mend: async () => void (await sql("DROP TRIGGER no_lease ON open_work"))
})

/** Callbacks that wait in the inbox; played beside others, because they have to wait for minutes. */
export const callbacksLate = ({ sql, tenant }: Scene): Fault => ({
  about: "callbacks that cannot be processed, because their rows cannot be changed, until they can",
  alerts: ["CallbacksLate"],
  how: "real",
  withinSeconds: 240,
  begin: async () => {
    const payer = await tenant("awaited", 100_000)
    await sql("CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''read only''; END'")
    await sql("CREATE TRIGGER read_only BEFORE UPDATE ON provider_inbox FOR EACH ROW EXECUTE FUNCTION refuse_write()")
    const reference = referenceOf(await payer.post("/v1/payouts", payoutOf("1000")))
    await settled(payer, `/v1/payouts/${reference}`, ({ status }) => status === "successful")
  },
  mend: async () => void (await sql("DROP TRIGGER read_only ON provider_inbox"))
})

/** After `callbacksLate`, which keeps callbacks from being looked into. */
export const callbacksParked = ({ must, sql, stage }: Scene): Fault => ({
  about: "a callback about a payout that is not ours, until a person has closed it",
  alerts: ["CallbacksParked"],
  how: "set back",
  begin: async () => {
    await madeElsewhere(stage, "not-ours-either")
    await eventually(
      () => sql("SELECT id FROM provider_inbox WHERE status = 'due' AND next_look_at > now() + interval '2 seconds'"),
      (due) => due.length > 0
    )
    await sql("UPDATE provider_inbox SET looks = 8, next_look_at = now() WHERE status = 'due'")
  },
  mend: async () => {
    for (const { id } of await sql("SELECT id FROM provider_inbox WHERE status = 'parked'"))
      await must("inbox", "close", String(id), "--reason", "another program's payout")
  }
})
