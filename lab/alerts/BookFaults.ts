import type { Fault } from "./Fault.ts"
import { chargeOf, madeElsewhere, payoutOf } from "./Requests.ts"
import { creditOf, referenceOf, type Scene, settled } from "./Scene.ts"

const nothing = async () => undefined
const DAY_MS = 86_400_000
const yesterday = () => new Date(Date.now() - DAY_MS).toISOString().slice(0, "2026-01-31".length)

/** An installation that has just been made: nobody has checked anything yet. */
export const unchecked = ({ must }: Scene): Fault => ({
  about: "nobody ever verified the ledger or reconciled the provider, until somebody does",
  alerts: ["LedgerUnverified", "ReconcileOverdue"],
  isThereFromStart: true,
  how: "real",
  begin: nothing,
  mend: async () => {
    await must("ledger", "verify")
    await must("reconcile", "eversend")
  }
})

/** What the books say. */
export const bookFaults = (scene: Scene): ReadonlyArray<Fault> => [
  ledgerDifference(scene),
  auditLogBroken(scene),
  reconcileDifference(scene),
  reviewWaiting(scene),
  receivableOwed(scene),
  openForADay(scene)
]

const ledgerDifference = ({ command, must, sql, tenant }: Scene): Fault => {
  const shift = (by: number) =>
    sql(
      `UPDATE float_positions SET available_minor = available_minor + $1, collected_minor = collected_minor + $1
      WHERE app_id = 'shifted'`,
      [by]
    )
  return {
    about: "somebody changes a position by one minor unit, until it is changed back",
    alerts: ["LedgerDifference"],
    how: "real",
    begin: async () => {
      await tenant("shifted", 10_000)
      await shift(1)
      await command("ledger", "verify")
    },
    mend: async () => {
      await shift(-1)
      await must("ledger", "verify")
    }
  }
}

const auditLogBroken = ({ must, sql }: Scene): Fault => ({
  about: "the owner of the database removes rows of the audit log, until they are restored",
  alerts: ["AuditLogBroken"],
  how: "real",
  begin: async () => {
    await sql("ALTER TABLE audit_log DISABLE TRIGGER audit_log_is_append_only")
    await sql("CREATE TABLE removed_rows AS SELECT * FROM audit_log WHERE sequence > 1")
    await sql("CREATE TABLE removed_head AS SELECT * FROM audit_head")
    await sql("DELETE FROM audit_log WHERE sequence > 1")
    await sql("UPDATE audit_head SET (sequence, hash) = (SELECT sequence, hash FROM audit_log)")
  },
  mend: async () => {
    await sql("INSERT INTO audit_log SELECT * FROM removed_rows")
    await sql("UPDATE audit_head SET (sequence, hash) = (SELECT sequence, hash FROM removed_head)")
    await sql("ALTER TABLE audit_log ENABLE TRIGGER audit_log_is_append_only")
    await must("audit", "verify")
  }
})

const reconcileDifference = ({ command, must, stage }: Scene): Fault => ({
  about: "the provider executes what we never asked for, until a day without it is reconciled",
  alerts: ["ReconcileDifference"],
  how: "real",
  begin: async () => {
    await madeElsewhere(stage, "not-ours")
    await command("reconcile", "eversend")
  },
  mend: async () => void (await must("reconcile", "eversend", "--day", yesterday()))
})

const inReview = (data: Readonly<Record<string, unknown>>) => data["needs_review"] === true

const reviewWaiting = ({ must, tenant }: Scene): Fault => {
  let reference = ""
  let observed = ""
  return {
    about: "a payer pays another amount than asked for, until a person has ruled",
    alerts: ["ReviewWaiting"],
    how: "real",
    begin: async () => {
      const payee = await tenant("other-amount")
      reference = referenceOf(await payee.post("/v1/collections", chargeOf("0014")))
      const record = await settled(payee, `/v1/collections/${reference}`, inReview)
      observed = String(record["observed_amount_minor"])
    },
    mend: async () => {
      const ruling = ["--outcome", "successful", "--amount-minor", observed, "--evidence", "the provider's statement"]
      await must("review", "resolve", reference, ...ruling)
    }
  }
}

const receivableOwed = ({ must, tenant }: Scene): Fault => ({
  about: "a charge is reversed after its money was paid out, until the tenant pays",
  alerts: ["ReceivableOwed"],
  how: "real",
  beside: ["ReviewWaiting"],
  begin: async () => {
    const debtor = await tenant("owing")
    const reference = referenceOf(await debtor.post("/v1/collections", chargeOf("0015")))
    await settled(debtor, `/v1/collections/${reference}`, ({ status }) => status === "successful")
    await debtor.post("/v1/payouts", payoutOf("1000", 15_000))
    await settled(debtor, `/v1/collections/${reference}`, inReview)
    await must("review", "resolve", reference, "--outcome", "failed", "--evidence", "the provider took it back")
  },
  mend: async () => void (await must("float", "credit", ...creditOf("owing", 20_000, "paid")))
})

const openForADay = ({ must, sql, tenant }: Scene): Fault => {
  let reference = ""
  const older = async (hours: number) =>
    void (await sql("UPDATE transactions SET created_at = created_at - $1 * interval '1 hour' WHERE reference = $2", [
      hours,
      reference
    ]))
  return {
    about: "a payout that the provider goes on calling pending, until an operator has acknowledged it",
    alerts: ["OpenForADay"],
    how: "set back",
    begin: async () => {
      const payer = await tenant("patient", 100_000)
      reference = referenceOf(await payer.post("/v1/payouts", payoutOf("0010")))
      await older(25)
    },
    mend: async () => void (await must("review", "acknowledge", reference, "--note", "asked their support")),
    after: () => older(-25)
  }
}
