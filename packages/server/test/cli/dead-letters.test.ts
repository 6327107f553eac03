import { readFileSync, writeFileSync } from 'node:fs'
import { Holdfast } from '@holdfast/runtime'
import { systemClock } from 'holdfast/internal'
import { describe, expect, it, vi } from 'vitest'
import { EXIT_CODES } from '../../src/cli/context/exit.js'
import { serve } from '../../src/serve/serve.js'
import { World } from './world.js'

const confirm = vi.hoisted(() => vi.fn<() => Promise<boolean>>())
vi.mock('@clack/prompts', () => ({ confirm, isCancel: () => false }))

const CONFIG = `version: "1.1.0"
policies: { save: { max_attempts: 1 } }
store: sqlite:data/holdfast.db
dead_letters: { handlers: ./handlers.mjs }
`

/** Saves everything but what is called bad, and writes down what it saved. */
const HANDLERS = `import { appendFileSync } from 'node:fs'
export function save({ name }) {
  if (name.startsWith('bad')) throw new Error('still down')
  appendFileSync(new URL('./saved.txt', import.meta.url), name + '\\n')
}
`

/** A folder whose store holds letters by these names. */
async function letters(...names: string[]): Promise<World> {
  const world = new World({ 'holdfast.yaml': CONFIG, 'handlers.mjs': HANDLERS })
  const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
  for (const name of names)
    await hf.deadLetters.enqueue({
      operation: 'save',
      itemId: name,
      payload: { name },
      error: new Error('down'),
    })
  await hf.close()
  return world
}

const saved = (world: World): string[] => readFileSync(world.path('saved.txt'), 'utf8').trim().split('\n')

describe('dead letters on a store', () => {
  it('are listed oldest first, also by the short name of the command', async () => {
    const world = await letters('a', 'b')
    const { json } = await world.run(['dead-letters', 'list', '--json'])
    expect(json.items.map(({ item_id }: { item_id: string }) => item_id)).toEqual(['a', 'b'])
    const { out } = await world.run(['dlq', 'list', '--limit', '1'])
    expect(out).toMatch(/pending +save .* a +0/)
  })

  it('are shown with their payload', async () => {
    const world = await letters('a')
    const { json } = await world.run(['dlq', 'list', '--json'])
    const { out } = await world.run(['dlq', 'show', json.items[0].dlq_id])
    expect(out).toContain('"name": "a"')
    const { code, err } = await world.run(['dlq', 'show', 'dlq_none'])
    expect(code).toBe(EXIT_CODES.failure)
    expect(err).toContain('holdfast dead-letters list')
  })

  it('are succeeded, and failures are reported', async () => {
    const world = await letters('a', 'bad', 'b')
    const { code, out } = await world.run(['dlq', 'replay'])
    expect([code, out]).toEqual([EXIT_CODES.failure, '2 succeeded, 1 failed, 0 skipped\n'])
    expect(saved(world).toSorted()).toEqual(['a', 'b'])
    const { json } = await world.run(['dlq', 'list', '--status', 'failed', '--json'])
    expect(json.items).toHaveLength(1)
    const one = await world.run(['dlq', 'replay', json.items[0].dlq_id])
    expect(one.code).toBe(EXIT_CODES.failure)
    expect(one.out).toContain('still down')
  })

  it('cause a hint about --retry-failed if only failed ones are left', async () => {
    const world = await letters('bad')
    const first = await world.run(['dlq', 'replay'])
    expect(first.err).not.toContain('--retry-failed')
    const again = await world.run(['dlq', 'replay'])
    expect([again.code, again.out]).toEqual([EXIT_CODES.ok, '0 succeeded, 0 failed, 0 skipped\n'])
    expect(again.err).toContain('no pending dead letters; --retry-failed replays 1 that failed before')
    expect((await world.run(['dlq', 'replay', '--operation', 'save'])).err).toContain('--retry-failed')
    expect((await world.run(['dlq', 'replay', '--operation', 'load'])).err).toBe('')
    const retried = await world.run(['dlq', 'replay', '--retry-failed'])
    expect([retried.out, retried.err]).toEqual(['0 succeeded, 1 failed, 0 skipped\n', ''])
  })

  it('are replayed until Ctrl-C, and the same command continues', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `m${String(i).padStart(2, '0')}`)
    const world = await letters(...names)
    const argv = ['dlq', 'replay', '--concurrency', '1']
    const first = await world.run(argv, {
      terminal: true,
      onPrinted: (text, interrupt) => {
        if (/ [1-9]\d* of 30/.test(text)) interrupt()
      },
    })
    expect(first.err).toContain('#')
    // The command may have finished before the interruption. Both exit codes are correct.
    expect([EXIT_CODES.interrupted, EXIT_CODES.ok]).toContain(first.code)
    if (first.code === EXIT_CODES.interrupted) expect(first.err).toContain('run the same command again')
    expect((await world.run(argv)).code).toBe(EXIT_CODES.ok)
    expect(saved(world)).toEqual(names)
    const { json } = await world.run(['dlq', 'list', '--status', 'completed', '--json'])
    expect(json.items).toHaveLength(30)
  })

  it('are exported as JSON lines', async () => {
    const world = await letters('a', 'b')
    const { out } = await world.run(['dlq', 'export'])
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ original_payload }) => original_payload)).toEqual([{ name: 'a' }, { name: 'b' }])
    await world.run(['dlq', 'export', '--out', 'letters.jsonl'])
    expect(readFileSync(world.path('letters.jsonl'), 'utf8')).toBe(out)
  })

  it('are deleted by selection after a confirmation', async () => {
    const world = await letters('a', 'b', 'c')
    expect((await world.run(['dlq', 'purge'])).code).toBe(EXIT_CODES.usage)
    const unasked = await world.run(['dlq', 'purge', '--item', 'a'])
    expect([unasked.code, unasked.err.includes('--yes')]).toEqual([EXIT_CODES.usage, true])
    expect((await world.run(['dlq', 'purge', '--older-than', '1d', '--yes'])).out).toBe('0 deleted\n')
    expect((await world.run(['dlq', 'purge', '--item', 'a', '--yes'])).out).toBe('1 deleted\n')
    expect((await world.run(['dlq', 'purge', '--all', '--yes', '--json'])).json).toEqual({
      purged: 2,
      leased: [],
    })
    expect((await world.run(['dlq', 'purge', '--older-than', 'long', '--yes'])).code).toBe(EXIT_CODES.usage)
  })

  it.each(['--all', '--operation=save', '--newer-than=1d', '--search=name'])(
    'that are stored after they were counted are not deleted with %s',
    async (selection) => {
      const world = await letters('a', 'b')
      confirm.mockImplementationOnce(async () => {
        const clock = { ...systemClock, wall: () => systemClock.wall() + 60_000 }
        const config = world.path('holdfast.yaml')
        const hf = await Holdfast.open({ config, env: {}, watch: false, clock })
        await hf.deadLetters.enqueue({ operation: 'save', itemId: 'c', payload: { name: 'c' } })
        await hf.close()
        return true
      })
      expect((await world.run(['dlq', 'purge', selection], { prompts: true })).out).toBe('2 deleted\n')
      const { json } = await world.run(['dlq', 'list', '--json'])
      expect(json.items.map(({ item_id }: { item_id: string }) => item_id)).toEqual(['c'])
    },
  )

  it('are selected by a text of the payload and by age, and counted without a replay', async () => {
    const world = await letters('acme-1', 'globex-1', 'acme-2')
    const dry = await world.run(['dlq', 'replay', '--search', 'ACME', '--newer-than', '1d', '--dry-run'])
    expect([dry.code, dry.out]).toEqual([EXIT_CODES.ok, '2 dead letters match\n'])
    expect((await world.run(['dlq', 'replay', '--older-than', '1d', '--dry-run', '--json'])).json).toEqual({
      matching: 0,
    })
    expect((await world.run(['dlq', 'replay', '--search', 'acme'])).out).toBe(
      '2 succeeded, 0 failed, 0 skipped\n',
    )
    expect(saved(world).toSorted()).toEqual(['acme-1', 'acme-2'])
    expect((await world.run(['dlq', 'purge', '--search', 'acme', '--yes'])).out).toBe('2 deleted\n')
    expect((await world.run(['dlq', 'replay', '--item', 'globex-1'])).out).toBe(
      '1 succeeded, 0 failed, 0 skipped\n',
    )
  })

  it('are replayed with an edited payload', async () => {
    const world = await letters('bad')
    const { json } = await world.run(['dlq', 'list', '--json'])
    const id = json.items[0].dlq_id
    expect((await world.run(['dlq', 'replay', id])).out).toBe(`${id} failed again: Error: still down\n`)
    writeFileSync(world.path('fixed.json'), '{ "name": "good" }')
    writeFileSync(world.path('broken.json'), '{ "name": ')
    expect(await world.run(['dlq', 'edit', id, '--payload', 'broken.json'])).toMatchObject({
      code: EXIT_CODES.usage,
    })
    expect(await world.run(['dlq', 'edit', id, '--payload', 'missing.json'])).toMatchObject({
      code: EXIT_CODES.usage,
    })
    expect((await world.run(['dlq', 'edit', id, '--payload', 'fixed.json'])).out).toBe(`${id} edited\n`)
    const { out } = await world.run(['dlq', 'show', id])
    expect(out).toContain('"name": "bad"')
    expect(out).toContain('"name": "good"')
    expect((await world.run(['dlq', 'replay', id])).out).toBe(`${id} completed\n`)
    expect(saved(world)).toEqual(['good'])
  })

  it('can be listed while another process has the store open', async () => {
    const world = await letters('a')
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
    expect((await world.run(['dlq', 'replay'])).code).toBe(EXIT_CODES.ok)
    expect((await hf.deadLetters.stats()).byStatus.completed).toBe(1)
    await hf.close()
  })
})

describe('dead letters at a server', () => {
  it('are replayed by the server', async () => {
    const world = await letters('a', 'b')
    const hf = await Holdfast.open({ config: world.path('holdfast.yaml'), env: {}, watch: false })
    const server = await serve(hf, { port: 0, dashboard: false })
    const elsewhere = new World()
    const { code, json } = await elsewhere.run(['dlq', 'replay', '--json', '--url', server.url])
    expect([code, json]).toEqual([EXIT_CODES.ok, { succeeded: 2, failed: 0, skipped: 0, interrupted: false }])
    await server.close()
    await hf.close()
    expect(saved(world).toSorted()).toEqual(['a', 'b'])
  })
})
