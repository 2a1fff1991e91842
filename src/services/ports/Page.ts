/** Which page of a list to read: at most `limit` rows after `after`, where the previous page ended; null begins the list. */
export interface PageAfter<Place> {
  readonly limit: number
  readonly after: Place | null
}
