/** What a page says after a change. Addresses name a sentence and hold none, so that nobody can put words on a page by a link. */
export const notices: Readonly<Record<string, string>> = {
  "logged-out": "You are logged out.",
  asked: "The provider was asked. What it said is in the timeline.",
  acknowledged: "Its alerts rest until then, or until it goes into review or out of it. Nothing else changed.",
  "not-open": "Nothing was done: it is neither open nor in review any more.",
  "hours-wrong": "Nothing was done: alerts rest for 1 to 72 hours.",
  resolved: "The case is resolved.",
  proposed: "Proposed. Another person has to approve it before anything is done.",
  approved: "Approved, and carried out. A new key is made when its proposer asks for it.",
  dismissed: "The proposal is over. Nothing was done.",
  redelivered: "They are sent again: the same bytes under the same ids.",
  "no-endpoint": "Nothing was sent: the tenant has no enabled endpoint in this mode.",
  "none-chosen": "Nothing was sent: none was ticked.",
  replayed: "It is looked into again.",
  closed: "It is closed. Nothing was asked and nothing was booked.",
  "no-callback": "There is no such callback any more, or it is not parked.",
  switched: "The corridor is switched. Every node follows within a second.",
  "sender-set": "It is kept. Every node tells it from within a second on.",
  "sender-removed": "Nobody is named as the sender any more. Payouts that need one are refused.",
  "no-corridor": "There is no such corridor.",
  "reason-missing": "Nothing was done: it needs a reason."
}
