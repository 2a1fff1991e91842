import type { Bug } from "./Bug.ts"

const test = "test/persistence/webhooks/NamedEndpoints.test.ts"
const claims = "src/persistence/schema/functions/claim_deliveries.sql"

/** Several webhook endpoints of one tenant: each has its own events, secret, failures and turns. */
export const endpointBugs: ReadonlyArray<Bug> = [
  {
    name: "deliver every event to every endpoint",
    breaks: "an event is delivered to exactly the endpoints that want it",
    test,
    edits: [
      {
        file: "src/persistence/schema/functions/events.sql",
        text: "n.enabled AND p_event_type = ANY (n.events) AND",
        instead: "n.enabled AND"
      }
    ]
  },
  {
    name: "give a tenant a turn for each of its endpoints",
    breaks: "a tenant with several endpoints delays no other tenant",
    test,
    edits: [{ file: claims, text: "PARTITION BY app_id, split_part(queue, '/', 1)", instead: "PARTITION BY app_id, queue" }]
  },
  {
    name: "lease without end to an endpoint that has a name",
    breaks: "at most eight deliveries are under way at one endpoint",
    test,
    edits: [{ file: claims, text: "IF NOT chosen_queues <@ '{live,test}' THEN", instead: "IF chosen_queues = '{}' THEN" }]
  },
  {
    name: "remove events that wait for another endpoint",
    breaks: "an event stays as long as a delivery of it is due or parked",
    test,
    edits: [
      {
        file: "src/persistence/webhooks/EventSteps.ts",
        text: "FROM named l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status <> 'delivered'",
        instead: "FROM named l WHERE l.app_id = o.app_id AND l.event_id = o.id AND l.status = 'due'"
      }
    ]
  },
  {
    name: "count no endpoints",
    breaks: "a tenant has at most five endpoints of a mode",
    test,
    edits: [
      {
        file: "src/persistence/webhooks/WebhookEndpointsPg.ts",
        text: "row.others + 1 < ENDPOINTS_AT_MOST",
        instead: "row.others < ENDPOINTS_AT_MOST"
      }
    ]
  }
]
