import type { Bug, Edit } from "./Bug.ts"

// Mistakes in the functions of the database that move money, each in the function of one step and in that of a batch. The texts are
// short: they name the rule, and not how it is written.

const openStep = "src/persistence/schema/functions/open_step.sql"
const openSteps = "src/persistence/schema/functions/open_steps.sql"
const windows = "src/persistence/schema/functions/windows.sql"
const applyStep = "src/persistence/schema/functions/apply_step.sql"
const applySteps = "src/persistence/schema/functions/apply_steps.sql"
const events = "src/persistence/schema/functions/events.sql"
const signs = "src/persistence/schema/functions/signed_postings.sql"

const aFold = "test/persistence/ledger/MoneySteps.test.ts"
const aRace = "test/persistence/ledger/StepLocks.test.ts"
const journal = "test/persistence/ledger/Journal.test.ts"

interface Mistake extends Omit<Bug, "edits" | "test"> {
  readonly test?: string
}

/** Found by the comparison with a fold where no other test is named. */
const mistake = ({ test = aFold, ...one }: Mistake, ...edits: readonly [Edit, ...ReadonlyArray<Edit>]): Bug => ({
  ...one,
  test,
  edits
})
const at = (file: string, text: string, instead: string): Edit => ({ file, text, instead })

const opening: ReadonlyArray<Bug> = [
  mistake(
    { name: "pay for a frozen tenant", breaks: "a frozen tenant pays nothing" },
    at(openStep, "tenant_status IS DISTINCT FROM 'active'", "tenant_status IS NULL")
  ),
  mistake(
    { name: "pay for a frozen tenant in a batch", breaks: "a frozen tenant pays nothing" },
    at(openSteps, "r.status = 'active'", "true")
  ),
  mistake(
    { name: "open beside a freeze", breaks: "a freeze is seen by every payout that commits after it", test: aRace },
    at(openStep, "WHERE t.app_id = p_app_id FOR SHARE", "WHERE t.app_id = p_app_id")
  ),
  mistake(
    { name: "open a batch beside a freeze", breaks: "a freeze is seen by every payout that commits after it", test: aRace },
    at(openSteps, "FOR SHARE OF t", "")
  ),
  mistake(
    { name: "open what was booked meanwhile", breaks: "what operators booked by hand is not moved again", test: aRace },
    at(openStep, "      verdict := 'ClaimLost'; RAISE SQLSTATE 'GW001';", "      NULL;")
  ),
  mistake(
    {
      name: "open a batch of what was booked meanwhile",
      breaks: "what operators booked by hand is not moved again",
      test: aRace
    },
    at(openSteps, "claim_owner[r.n] := NULL;", "NULL;")
  ),
  mistake(
    { name: "link a key with an old fence", breaks: "a claimant that slept past its lease opens nothing" },
    at(openStep, "AND k.fence = p_fence", "")
  ),
  mistake(
    { name: "open twice under one key of a batch", breaks: "a key opens one transaction" },
    at(openSteps, "claim_unused[claim_owner[i]] := false;", "")
  ),
  mistake(
    { name: "charge a busy payer", breaks: "a number has one charge at a time" },
    at(openStep, "AND l.reference IS NOT DISTINCT FROM p_last_charge_seen", "")
  ),
  mistake(
    { name: "charge a busy payer in a batch", breaks: "a number has one charge at a time" },
    at(openSteps, "OR last_charge[p_payer[i]] IS DISTINCT FROM p_last_charge_seen[i]", "")
  ),
  mistake(
    { name: "charge a payer twice in a batch", breaks: "a number has one charge at a time" },
    at(openSteps, "payer_available[p_payer[i]] := false;", "NULL;")
  ),
  mistake(
    { name: "charge a payer beside another charge", breaks: "a number has one charge at a time", test: aRace },
    at(openSteps, "FOR UPDATE OF l", "")
  ),
  mistake(
    { name: "compare no window", breaks: "no more is counted in a window than its bound" },
    at(openStep, "(in_use <= p_window_bound[w]) IS NOT TRUE", "in_use < 0")
  ),
  mistake(
    { name: "compare no window of a batch", breaks: "no more is counted in a window than its bound" },
    at(openSteps, "<= p_need_bound[w]) IS NOT TRUE THEN", "<= p_need_bound[w]) IS NOT TRUE AND false THEN")
  ),
  mistake(
    { name: "count a step of a batch twice", breaks: "a window counts each step once" },
    at(
      openSteps,
      "used_so_far[p_need_window[w]] := used_so_far[p_need_window[w]] +",
      "used_so_far[p_need_window[w]] := used_so_far[p_need_window[w]] + 2 *"
    )
  ),
  mistake(
    { name: "count a refused step", breaks: "what is refused is not counted" },
    at(openStep, "verdict := 'OverCap'; RAISE SQLSTATE 'GW001';", "verdict := 'OverCap'; RETURN;")
  ),
  mistake(
    { name: "count a refused step of a batch", breaks: "what is refused is not counted" },
    at(
      openSteps,
      "failed_window := w - first + 1;",
      "failed_window := w - first + 1; used_so_far[p_need_window[w]] := used_so_far[p_need_window[w]] + p_need_amount[w];"
    )
  ),
  mistake(
    { name: "count a batch and forget what was counted before", breaks: "no more is counted in a window than its bound" },
    at(windows, "SET used = c.used + EXCLUDED.used\n", "SET used = EXCLUDED.used\n")
  ),
  mistake(
    { name: "give nothing back that a refused step of a batch took", breaks: "what is refused is not counted" },
    at(openSteps, "cardinality(opened) < cardinality(p_app_id) AND", "false AND")
  ),
  mistake(
    { name: "reserve what the tenant owes", breaks: "what a tenant owes cannot be reserved" },
    at(openStep, "greatest(p.available_minor - p.receivable_minor, 0)", "p.available_minor")
  ),
  mistake(
    { name: "reserve what the tenant owes in a batch", breaks: "what a tenant owes cannot be reserved" },
    at(openSteps, "greatest(p.available_minor - p.receivable_minor, 0)", "p.available_minor")
  ),
  mistake(
    { name: "reserve for a refused step", breaks: "what is refused is not reserved" },
    at(
      openSteps,
      "THEN verdict := 'ShortFloat';",
      "THEN reserved[p_position[i]] := reserved[p_position[i]] + p_held[i]; verdict := 'ShortFloat';"
    )
  ),
  mistake(
    { name: "reserve float that another commit took", breaks: "float is reserved once", test: aRace },
    // A subquery of the statement itself sees the float as it was before the other commit.
    at(
      openStep,
      "AND p_held <= p.available_minor - p.receivable_minor;",
      "AND p_held <= (SELECT s.available_minor - s.receivable_minor FROM float_positions s WHERE (s.app_id, s.mode, s.currency) = (p_app_id, p_mode, p_currency));"
    )
  ),
  mistake(
    { name: "reserve float of a batch that another commit took", breaks: "float is reserved once", test: aRace },
    at(openSteps, "FOR UPDATE OF p\n", "\n")
  ),
  mistake(
    { name: "make no position to be credited", breaks: "a collection that succeeds finds its position" },
    at(openStep, "IF p_credited_currency IS NOT NULL THEN", "IF false THEN")
  ),
  mistake(
    { name: "make no positions to be credited", breaks: "a collection that succeeds finds its position" },
    at(openSteps, "IF array_remove(p_credited_currency, NULL) <> '{}' THEN", "IF false THEN")
  )
]

const olderRevision = "a step decided against an older revision changes nothing"
const applying: ReadonlyArray<Bug> = [
  mistake(
    { name: "apply to a newer record", breaks: olderRevision, test: aRace },
    at(applyStep, "AND revision = p_expected_revision", "AND revision >= p_expected_revision")
  ),
  mistake(
    { name: "apply a batch to newer records", breaks: olderRevision, test: aRace },
    at(applySteps, "t.revision = s.expected_revision", "t.revision >= s.expected_revision")
  ),
  mistake(
    {
      name: "apply beside another decision",
      breaks: "a decision is committed only against the record that it was made for",
      test: aRace
    },
    at(applySteps, "s.n FOR UPDATE OF t", "s.n")
  ),
  mistake(
    { name: "apply two decisions of a batch", breaks: "a decision is committed only against the record that it was made for" },
    at(applySteps, "CONTINUE WHEN p_reference[r.n]", "CONTINUE WHEN false AND p_reference[r.n]")
  ),
  mistake(
    { name: "post a slot twice", breaks: "a slot of a record is posted once", test: journal },
    at(applyStep, "IF t.posted_before THEN", "IF false THEN")
  ),
  mistake(
    { name: "post a slot twice in a batch", breaks: "a slot of a record is posted once", test: journal },
    at(applySteps, "IF r.posted THEN", "IF false THEN")
  ),
  mistake(
    { name: "answer under a lost fence", breaks: "only who holds a key answers under it" },
    at(applyStep, "AND k.fence = p_fence", "")
  ),
  mistake(
    { name: "answer under a lost fence in a batch", breaks: "only who holds a key answers under it" },
    at(applySteps, "k.fence = p_fence[n] AND", "")
  ),
  mistake(
    { name: "give back more than was counted", breaks: "a window is never below zero" },
    at(applyStep, "greatest(c.used - r.amount, 0)", "c.used - r.amount")
  ),
  mistake(
    { name: "give back more than was counted in a batch", breaks: "a window is never below zero" },
    at(applySteps, "greatest(c.used - r.amount, 0)", "c.used - r.amount")
  ),
  mistake(
    { name: "move money without a position", breaks: "an entry moves every position that it names" },
    at(applyStep, "PERFORM refuse_commit('a position was not moved')", "NULL"),
    at(applySteps, "PERFORM refuse_commit('a position was not moved')", "NULL")
  ),
  mistake(
    { name: "keep the destination", breaks: "a destination is forgotten once it is not needed" },
    at(applyStep, "CASE WHEN p_wipe THEN NULL ELSE w.sealed_destination END", "w.sealed_destination")
  ),
  mistake(
    { name: "keep the destinations of a batch", breaks: "a destination is forgotten once it is not needed" },
    at(applySteps, "CASE WHEN s.wipe THEN NULL ELSE w.sealed_destination END", "w.sealed_destination")
  ),
  mistake(
    {
      name: "keep the branch that a recipient was paid through first",
      breaks: "a saved recipient has the branch of its last payout"
    },
    at(applyStep, "coalesce(EXCLUDED.branch_code, known.branch_code)", "known.branch_code"),
    at(applySteps, "coalesce(EXCLUDED.branch_code, known.branch_code)", "known.branch_code")
  ),
  mistake(
    { name: "forget the branches of a batch", breaks: "a saved recipient has the branch of its last payout" },
    at(applySteps, 'b."bankCode", b."branchCode", b."bankName"', 'b."bankCode", NULL, b."bankName"')
  ),
  mistake(
    { name: "note a step without its answer's digest", breaks: "ledger verify can compare every answer" },
    at(applyStep, "answer_digest(p_endpoint, p_key, p_answer_status, p_answer_body)", "NULL::bytea")
  ),
  mistake(
    { name: "note the steps of a batch without their events' digests", breaks: "ledger verify can compare every event" },
    at(applySteps, "event_digest(p_event_id[n], p_event_type[n], p_event_body[n])", "NULL::bytea")
  )
]

const writing: ReadonlyArray<Bug> = [
  mistake(
    { name: "tell of an event to nobody", breaks: "an event is delivered where the tenant wants it" },
    at(events, "AND p_event_type = ANY (w.events)\n    UNION ALL", "AND p_event_type <> ALL (w.events)\n    UNION ALL")
  ),
  mistake(
    { name: "tell of a batch's events to nobody", breaks: "an event is delivered where the tenant wants it" },
    at(events, "IF wanted IS NOT NULL THEN", "IF false THEN")
  ),
  mistake(
    { name: "post what was collected with its sign kept", breaks: "the positions are what the entries say" },
    at(signs, "'collected', 'credited', 'fx_in', 'returned', 'receivable'", "'credited', 'fx_in', 'returned', 'receivable'")
  )
]

export const moneyFunctionBugs: ReadonlyArray<Bug> = [...opening, ...applying, ...writing]
