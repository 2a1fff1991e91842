import { readdirSync } from "node:fs"
import type { Family } from "./Family.ts"

const MICROS_PER_SECOND = 1e6
const MS_PER_SECOND = 1000

/** The usual metrics of a process, under the names that standard dashboards query. */
export const processFamilies = ({
  release,
  version
}: {
  readonly release: string
  readonly version: string
}): ReadonlyArray<Family> => {
  const { system, user } = process.cpuUsage()
  const { external, heapTotal, heapUsed, rss } = process.memoryUsage()
  const one = (name: string, help: string, value: number): Family => ({ name, help, samples: [[{}, value]] })
  return [
    {
      ...one("process_cpu_seconds_total", "Processor time of the process.", (user + system) / MICROS_PER_SECOND),
      type: "counter"
    },
    one("process_resident_memory_bytes", "Resident memory of the process.", rss),
    one("process_start_time_seconds", "When the process started.", Math.round(performance.timeOrigin) / MS_PER_SECOND),
    { name: "process_open_fds", help: "Open file descriptors, where the system tells.", samples: openFiles() },
    one("nodejs_heap_size_total_bytes", "The heap that Node.js has taken.", heapTotal),
    one("nodejs_heap_size_used_bytes", "The heap that is in use.", heapUsed),
    one("nodejs_external_memory_bytes", "Memory of buffers outside the heap.", external),
    { name: "nodejs_version_info", help: "The version of Node.js.", samples: [[{ version: process.version }, 1]] },
    { name: "gateway_build_info", help: "The release and the build of this process.", samples: [[{ release, version }, 1]] }
  ]
}

/** Whether commits wait for a standby, as this node sees it. */
export const commitsWaitingFamily = (waiting: boolean): Family => ({
  name: "gateway_database_commits_waiting",
  help: "1 while commits wait for a standby that does not answer, else 0.",
  samples: [[{}, waiting ? 1 : 0]]
})

const openFiles = (): Family["samples"] => (process.platform === "linux" ? [[{}, readdirSync("/proc/self/fd").length]] : [])
