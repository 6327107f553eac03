import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { mutate } from './mutate.js'
import { Random } from './random.js'
import type { FuzzSession, FuzzTarget } from './target.js'

export interface FuzzOptions {
  /** The folder with one folder of cases for each target. */
  readonly corpus: string
  /** How many cases run after those of the corpus. */
  readonly cases: number
  /** Equal seeds give equal cases. */
  readonly seed: number
  /** Called before each case. */
  readonly onCase?: (bytes: Buffer) => void
  /** Called after each case with the number of finished cases. */
  readonly onProgress?: (done: number) => void
}

export interface FuzzReport {
  /** The number of cases that ran, with those of the corpus and without those that were no input of the code. */
  readonly cases: number
  /** Why no case could run; undefined if they ran. */
  readonly skipped: string | undefined
}

/** Cases are generated in batches, so that case `i` depends only on the seed and on `i`. */
const BATCH_SIZE = 256

/** A case that takes longer hangs. */
const CASE_TIMEOUT_MS = 60_000

/** How many shorter cases are tried to find the essential part of one that fails. */
const MAX_SHRINKS = 400

/** A property did not hold for a case, which is now in the corpus. */
export class FuzzFailure extends Error {}

const corpusOf = (folder: string, name: string): Buffer[] => {
  const own = join(folder, name)
  return existsSync(own)
    ? readdirSync(own)
        .toSorted()
        .map((file) => readFileSync(join(own, file)))
    : []
}

/** The cases of one batch: half of them generated, half of them mutated from the corpus and the generated ones. */
function batchOf(target: FuzzTarget, corpus: readonly Buffer[], seed: number, index: number): Buffer[] {
  const random = new Random(seed ^ Math.imul(index + 1, 0x9e3779b1))
  const generated = fc
    .sample(target.cases, { numRuns: BATCH_SIZE / 2, seed: random.next() | 0 })
    .map((bytes) => Buffer.from(bytes))
  const sources = [...corpus, ...generated]
  return generated.flatMap((bytes) => {
    const source = random.below(2) === 0 && corpus.length > 0 ? random.pick(corpus) : bytes
    return [bytes, mutate(source, sources, target.dictionary, random)]
  })
}

function* casesOf(target: FuzzTarget, { corpus, cases, seed }: FuzzOptions): Generator<Buffer> {
  const kept = corpusOf(corpus, target.name)
  yield* kept
  for (let done = 0; done < cases; done += BATCH_SIZE)
    yield* batchOf(target, kept, seed, done / BATCH_SIZE).slice(0, cases - done)
}

/** Runs one case and rejects if it does not end. Returns whether it counts. */
async function checkOne(session: FuzzSession, bytes: Buffer, lane: number): Promise<boolean> {
  const result = session.check(bytes, lane)
  if (!(result instanceof Promise)) return result !== false
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    // oxlint-disable-next-line holdfast/clock -- a case that hangs is found in real time
    timer = setTimeout(
      () => reject(new Error(`the case did not end within ${CASE_TIMEOUT_MS} ms`)),
      CASE_TIMEOUT_MS,
    )
  })
  try {
    return (await Promise.race([result, timeout])) !== false
  } finally {
    clearTimeout(timer)
  }
}

/** The beginning of a message, which is equal for equal failures. */
const kindOf = (error: unknown): string => String(error).slice(0, 30)

/** The shortest part of a case that was found to fail in the same way. */
async function shrink(session: FuzzSession, bytes: Buffer, kind: string): Promise<Buffer> {
  let best = bytes
  let left = MAX_SHRINKS
  for (let size = best.length >> 1; size > 0 && left > 0; size >>= 1)
    for (let at = 0; at < best.length && left > 0; left--) {
      const shorter = Buffer.concat([best.subarray(0, at), best.subarray(at + size)])
      const fails = await checkOne(session, shorter, 0).then(
        () => false,
        (error: unknown) => kindOf(error) === kind,
      )
      if (fails) best = shorter
      else at += size
    }
  return best
}

/** Writes a case into the corpus and returns its path. */
function saveCase(folder: string, name: string, bytes: Buffer): string {
  mkdirSync(join(folder, name), { recursive: true })
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  const path = join(folder, name, `crash-${hash}`)
  writeFileSync(path, bytes)
  return path
}

/** Runs the corpus and new cases. @throws FuzzFailure for the first case that fails */
export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  const cases = casesOf(target, options)
  const { concurrency = 1, reopenEvery = Number.POSITIVE_INFINITY } = target
  let done = 0
  let ignored = 0
  for (let isFinished = false; !isFinished; ) {
    const session = await target.open()
    if (typeof session === 'string') return { cases: 0, skipped: session }
    let left = reopenEvery
    let failed: { bytes: Buffer; error: unknown } | undefined
    const lane = async (number: number): Promise<void> => {
      while (failed === undefined && left-- > 0) {
        const { value: bytes, done: isLast } = cases.next()
        if (isLast === true || bytes === undefined) {
          isFinished = true
          return
        }
        options.onCase?.(bytes)
        try {
          if (!(await checkOne(session, bytes, number))) ignored++
        } catch (error) {
          failed ??= { bytes, error }
        }
        done++
        options.onProgress?.(done)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, (_, number) => lane(number)))
    if (failed !== undefined) {
      const { bytes, error } = failed as { bytes: Buffer; error: unknown }
      const path = saveCase(options.corpus, target.name, await shrink(session, bytes, kindOf(error)))
      await session.close().catch(() => {})
      throw new FuzzFailure(
        `${target.name}: a case failed (seed ${options.seed}, case ${done}); saved as ${path}`,
        {
          cause: error,
        },
      )
    }
    await session.close()
  }
  return { cases: done - ignored, skipped: undefined }
}
