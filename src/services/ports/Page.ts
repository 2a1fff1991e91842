/** A page of a list: at most `limit` rows, those after the place where the page before ended; null begins the list. */
export interface PageAfter<Place> {
  readonly limit: number
  readonly after: Place | null
}
