/** What a page says after a change. Addresses name a sentence and hold none, so that nobody can put words on a page by a link. */
export const notices: Readonly<Record<string, string>> = {
  "logged-out": "You are logged out.",
  asked: "The provider was asked. What it said is in the timeline.",
  resolved: "The case is resolved.",
  proposed: "Proposed. Another person has to approve it before anything is posted.",
  approved: "Approved, and carried out.",
  dismissed: "The proposal is over. Nothing was posted.",
  "reason-missing": "Nothing was shown: it needs a reason."
}
