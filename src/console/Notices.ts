/** What a page says after a change. Addresses name a sentence and hold none, so that nobody can put words on a page by a link. */
export const notices: Readonly<Record<string, string>> = {
  "logged-out": "You are logged out.",
  asked: "The provider was asked. What it said is in the timeline.",
  "reason-missing": "Nothing was shown: it needs a reason."
}
