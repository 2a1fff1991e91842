import type { Bug } from "./Bug.ts"

/** What lets a tenant, or somebody outside, learn or do what is not theirs. */
export const doorBugs: ReadonlyArray<Bug> = [
  {
    name: "tell tenants what their names resolve to",
    breaks: "a tenant learns nothing of our network from an endpoint that was not reached",
    test: "test/services/webhooks/WebhookDispatcher.test.ts",
    edits: [
      {
        file: "src/services/webhooks/EndpointConnection.ts",
        text: "excerpt: sent === undefined ? NOT_REACHED : told",
        instead: "excerpt: sent === undefined ? problem : told"
      }
    ]
  }
]
