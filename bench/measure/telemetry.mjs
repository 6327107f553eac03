// What telemetry costs a call that succeeds: two runtimes in one process, called in turns.
import { Holdfast } from '@holdfast/runtime'
import { createApp, openTelemetry } from '@holdfast/server'
import { succeed } from '../work.mjs'
import { succeeding } from './loops.mjs'
import { pairs } from './pairs.mjs'

/** How often the page is read, in milliseconds: fifteen times as often as Prometheus does by itself. */
const EVERY = 1000

const open = () =>
  Holdfast.open({
    config: { policies: { quick: { maxAttempts: 3, backoffType: 'immediate' } } },
    env: {},
  })

/** @param {(hf: Holdfast) => Promise<() => unknown>} begin what is added to one of them, and how it ends */
async function against(begin) {
  const [plain, told] = [await open(), await open()]
  const end = await begin(told)
  const samples = await pairs(
    succeeding(() => plain.run('quick', succeed)),
    succeeding(() => told.run('quick', succeed)),
  )
  await end()
  await plain.close()
  await told.close()
  return { samples }
}

/** With `/metrics` on, and read. */
export const prometheus = () =>
  against(async (hf) => {
    const app = createApp(hf, { dashboard: false })
    const read = async () => {
      const answer = await app.request('http://localhost/metrics')
      if (!(await answer.text()).includes('holdfast_calls_total')) throw new Error('there are no metrics')
    }
    await read()
    const timer = setInterval(() => void read(), EVERY)
    return async () => {
      clearInterval(timer)
      await app.close()
    }
  })

/** With the API of OpenTelemetry installed, without an SDK that records. */
export const openTelemetryAlone = () => against(openTelemetry)
