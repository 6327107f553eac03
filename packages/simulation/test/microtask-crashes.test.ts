import { expect, it, onTestFinished } from 'vitest'
import { MicrotaskCrashes } from '../src/engine/microtask-crashes.js'
import { runInMacrotask } from '../src/engine/microtasks.js'
import { Scheduler } from '../src/engine/scheduler.js'
import { Choices } from '../src/engine/seeded-random.js'

/** Runs an asynchronous function of a node with steps, and returns the steps that ran before a crash at a microtask. */
async function stepsBefore(number: number): Promise<string[]> {
  const scheduler = new Scheduler(new Choices(1).random)
  const crashes = new MicrotaskCrashes()
  onTestFinished(() => crashes.stop())
  const steps: string[] = []
  let isAlive = true
  const run = async (node: string) => {
    for (let step = 1; step <= 3; step++) {
      if (isAlive || node !== 'n1') steps.push(`${node} ${step}`)
      await Promise.resolve()
    }
  }
  crashes.arm('n1', number, () => {
    isAlive = false
  })
  for (const node of ['n0', 'n1'])
    scheduler.schedule(node === 'n0' ? 1 : 2, () => {
      crashes.enter(node)
      void run(node)
    })
  await runInMacrotask(() => scheduler.runUntil(10, () => crashes.onEventEnded()))
  return steps.filter((step) => step.startsWith('n1'))
}

it('ends a process at each await of its code, and counts no microtask of other nodes', async () => {
  expect(await stepsBefore(1)).toEqual(['n1 1'])
  expect(await stepsBefore(2)).toEqual(['n1 1', 'n1 2'])
  expect(await stepsBefore(3)).toEqual(['n1 1', 'n1 2', 'n1 3'])
  expect(await stepsBefore(100)).toEqual(['n1 1', 'n1 2', 'n1 3'])
})
