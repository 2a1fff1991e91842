import { maskedText } from "../domain/Masking.ts"
import { whyText } from "./ProviderCalls.ts"

// The words of a transaction's history are the program's; these are the texts for people.

const happenings: Readonly<Record<string, string>> = {
  Opened: "Recorded",
  Accepted: "The provider accepted it",
  NeedsRedirect: "The payer has to finish on the provider's page",
  CodeSent: "A code was sent to the payer",
  WrongCode: "The code was wrong",
  Charged: "The code was taken",
  Succeeded: "The provider says that it succeeded",
  Refused: "The provider says that it failed",
  NotSent: "It counts as not sent",
  Rerouted: "It goes to another provider",
  Unknown: "No clear answer: nobody knows whether it was executed",
  StillPending: "The provider says that it is under way",
  Mismatched: "The provider has this reference for another number",
  NotFound: "The provider does not know it, which proves nothing yet",
  Expired: "It expired",
  Returned: "The provider says that it came back",
  Clawback: "The provider lists a dispute or a refund",
  FeeStated: "The provider's statement names another fee",
  Resolved: "A person ruled on it"
}

const isUnderWay = (status: string): boolean => status === "pending" || status === "requires_action"

/** The text for a history line that led to this status. A call that ends after its outcome is known casts no doubt on it. */
export const happeningText = (fact: string, status: string): string =>
  fact === "Unknown" && !isUnderWay(status)
    ? "No clear answer to a call, which changed nothing"
    : Object.hasOwn(happenings, fact)
      ? (happenings[fact] ?? fact)
      : fact

/** The note of a history line, masked. The reason of a failed call is explained. */
export const noteText = (note: string): string => whyText(maskedText(note))
