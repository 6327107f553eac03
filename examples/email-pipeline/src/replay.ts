// The process that replays: it opens the same store and creates the same pipeline.
import { Holdfast } from '@holdfast/runtime'
import { mailPipeline, type Settings } from './pipeline.js'
import { clockAhead } from './time.js'

export interface ReplayTask extends Settings {
  readonly config: string
  readonly store: string
  /** How far its wall clock is moved forward, in milliseconds. */
  readonly ahead: number
}

/** Replays batches until nothing is left. An item that fails in a later step becomes a dead letter of that step. */
export async function replay({ config, store, ahead, ...settings }: ReplayTask): Promise<void> {
  const hf = await Holdfast.open({ config, store, watch: false, clock: clockAhead(ahead) })
  await mailPipeline(hf, settings)
  for (;;) {
    const { succeeded, failed, skipped } = await hf.deadLetters.replayBatch(
      { concurrency: 4, retryFailed: true },
      { by: 'example', reason: 'the services are repaired' },
    )
    console.log(`  replayed ${succeeded}, failed ${failed}, skipped ${skipped}`)
    if (succeeded === 0) break
  }
  await hf.close()
}
