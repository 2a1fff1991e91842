import { simulatedAirtel } from "../../../src/simulator/airtel/Simulator.ts"
import { simulatedDaraja } from "../../../src/simulator/daraja/Simulator.ts"
import { simulatedEversend } from "../../../src/simulator/eversend/Simulator.ts"
import { simulatedFlutterwave } from "../../../src/simulator/flutterwave/Simulator.ts"
import { simulatedMtn } from "../../../src/simulator/mtn/Simulator.ts"
import { simulatedPawapay } from "../../../src/simulator/pawapay/Simulator.ts"
import { simulatedPaystack } from "../../../src/simulator/paystack/Simulator.ts"
import { simulatedWave } from "../../../src/simulator/wave/Simulator.ts"
import { abilitiesOf } from "./Abilities.ts"
import { contract } from "./Suite.ts"

for (const known of [
  simulatedEversend,
  simulatedPawapay,
  simulatedFlutterwave,
  simulatedPaystack,
  simulatedMtn,
  simulatedAirtel,
  simulatedDaraja,
  simulatedWave
])
  contract(known, abilitiesOf(known.name))
