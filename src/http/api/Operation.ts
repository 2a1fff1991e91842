import { Context } from "effect"
import { OpenApi } from "effect/http-api"
import type { Code } from "./Errors.ts"

/** A parameter in OpenAPI's form. */
interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly [member: string]: unknown
}

/** The part of an endpoint's description that its schemas, summary and text cannot express: an annotation of the endpoint. */
export class Operation extends Context.Service<
  Operation,
  {
    /** Its error codes, in addition to those that the edge adds to every operation of its kind (contract ERR-5). */
    readonly errors?: ReadonlyArray<Code>
    readonly idempotencyKey?: "required" | "optional"
    /** A POST whose body is ignored. */
    readonly withoutBody?: true
    /** Request headers, and query parameters that its schema cannot name. */
    readonly parameters?: ReadonlyArray<Parameter>
    /** The pattern of those query parameters' names. */
    readonly otherParameters?: RegExp
    /** With `Accept: text/csv` the successful response is a file. */
    readonly isAlsoCsv?: true
    readonly responseHeaders?: Readonly<Record<string, string>>
  }
>()("gateway/http/Operation") {}

/** The annotations of an endpoint. Every endpoint has them, unless it is excluded from the description. */
export const operation = (summary: string, description: string, own: Operation["Service"] = {}): Context.Context<Operation> =>
  Context.add(OpenApi.annotations({ summary, description }), Operation, own)

/** The annotations of a group of endpoints: title and description. */
export const group = (title: string, description: string): Context.Context<never> =>
  OpenApi.annotations({ description, override: { "x-displayName": title } })

export const headerParameter = (name: string, description: string, required = true, schema: object = {}): Parameter => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string", ...schema }
})

/** For an operation's description: the capability that it needs. */
export const needs = (capability: string): string => `Needs the capability \`${capability}\`.`
export const NEEDS_NOTHING = "Needs no capability."
export const FROM_RECORDS = "The gateway answers from its own records; no provider is asked."
export const NEXT_PAGE = "Follow `next_cursor` until it is null."

/** Errors that several operations have. */
export const errors = {
  amounts: ["unknown_currency", "inexact_amount"],
  keyed: ["idempotency_key_required", "idempotency_key_reused", "request_in_progress", "indeterminate_outcome"],
  route: ["capability_not_allowed", "corridor_unsupported"],
  amountLimits: ["amount_below_minimum", "amount_above_maximum"],
  party: ["destination_blocked", "screening_denied"],
  counted: ["velocity_limit_exceeded", "global_ceiling_reached"],
  unknown: ["provider_unavailable", "provider_timeout", "provider_bad_response", "indeterminate_outcome"],
  providerRead: ["capability_not_allowed", "provider_error", "provider_capability_unsupported"]
} as const satisfies Readonly<Record<string, ReadonlyArray<Code>>>
