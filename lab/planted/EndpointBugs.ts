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
    edits: [
      {
        file: claims,
        text: "OVER (PARTITION BY app_id, mode ORDER BY place, next_attempt_at, queue, id) AS turn_of_tenant",
        instead: "OVER (PARTITION BY app_id, queue ORDER BY place, next_attempt_at, queue, id) AS turn_of_tenant"
      }
    ]
  },
  {
    name: "count the slots of each endpoint alone",
    breaks: "a tenant with several endpoints that hang holds no more slots than one with one",
    test: "test/persistence/webhooks/WebhookFairness.test.ts",
    edits: [{ file: claims, text: "(is_kept OR beyond + further <= free)", instead: "(is_kept OR true)" }]
  },
  {
    name: "keep no slot for an endpoint beside one that hangs",
    breaks: "an endpoint that hangs leaves the tenant's others a slot",
    test: "test/persistence/webhooks/WebhookFairness.test.ts",
    edits: [{ file: claims, text: "p_per_endpoint - t.kept * t.sharing AS free", instead: "p_per_endpoint AS free" }]
  },
  {
    name: "leave what was committed beside a removal in the queue",
    breaks: "what was due to an endpoint that was removed is parked",
    test: "test/persistence/webhooks/EndpointRemoval.test.ts",
    edits: [{ file: claims, text: "IF gone_ids IS NOT NULL THEN", instead: "IF gone_ids = '{}' THEN" }]
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
