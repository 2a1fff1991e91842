// `--everything` is a run of its own, with options of its own.
await import(process.argv.includes("--everything") ? "./everything/Everything.ts" : "./Chaos.ts")
