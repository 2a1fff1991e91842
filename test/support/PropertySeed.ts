import { configureGlobal } from "fast-check"

const { PROPERTY_SEED = "1" } = process.env

/** Every property draws the same cases in every run, so that the same code has the same result. `PROPERTY_SEED=N` draws others, `PROPERTY_SEED=any` new ones each time. */
configureGlobal(PROPERTY_SEED === "any" ? {} : { seed: Number(PROPERTY_SEED) })
