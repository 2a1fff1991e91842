import { Effect, Result, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import { csvText } from "../../domain/CsvText.ts"
import type { Currency } from "../../domain/Currency.ts"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { statementLines } from "../../services/FloatStatement.ts"
import { childPath, issueAt } from "../json/Issues.ts"

/** Whether a request asks for CSV. */
export const wantsCsv = (accept: ReadonlyArray<string>): boolean =>
  accept.some((value) => value.split(",").some((range) => range.split(";")[0]?.trim().toLowerCase() === "text/csv"))

/** A CSV file holds the whole interval, so it has no pages. */
export const wholeInterval = (query: { readonly limit?: unknown; readonly cursor?: unknown }) => {
  const issues = (["limit", "cursor"] as const)
    .filter((name) => query[name] !== undefined)
    .map((name) => issueAt(childPath(null, name), "is not for text/csv, which holds every entry of the interval"))
  return issues.length === 0 ? Result.succeed(undefined) : Result.fail(new ValidationFailed({ issues }))
}

/**
 * The entries as CSV (RFC 4180), streamed: a page is read when the client is ready for it. The first page is read before the
 * response begins, so that a refusal is an envelope; a later failure ends the connection before the end of the body.
 */
export const statementCsv = <E>(currency: Currency, read: Parameters<typeof statementLines<E>>[0]) =>
  Effect.map(statementLines(read), (lines) =>
    HttpServerResponse.stream(Stream.encodeText(Stream.map(lines, csvText)), {
      contentType: "text/csv; charset=utf-8; header=present",
      headers: { "content-disposition": `attachment; filename="statement-${currency}.csv"` }
    })
  )
