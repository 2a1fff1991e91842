import { Schema } from "effect"

/** The API's address cannot be listened on, mostly because another process has it. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot listen on ${this.host}:${this.port} (${this.reason}); set HOST or PORT to a free address`
  }
}
