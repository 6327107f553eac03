import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { refusal, setup } from './setup.js'

async function moduleOf(code: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-handlers-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  const file = join(dir, 'handlers.mjs')
  await writeFile(file, code)
  return file
}

describe('handlers from a module', () => {
  it('are its named exports and the members of its default export', async () => {
    const handlersFile = await moduleOf(`
      export const seen = []
      export const limit = 7
      export function write(payload, entry) { seen.push([payload, entry.idempotencyKey]); globalThis.handled = seen }
      export default { 'mail.send': async () => {} }
    `)
    const { queue, enqueue } = await setup({ options: { handlersFile } })
    await queue.open()
    const entry = await enqueue('a', { idempotencyKey: 'k' })
    expect((await queue.replay(entry.dlqId)).status).toBe('completed')
    expect((globalThis as { handled?: unknown }).handled).toEqual([[{ itemId: 'a' }, 'k']])
    const mail = await enqueue('b', { operation: 'mail.send' })
    expect((await queue.replay(mail.dlqId)).status).toBe('completed')
    const none = await enqueue('c', { operation: 'limit' })
    expect((await queue.replay(none.dlqId)).replayRequestedAt).toBeInstanceOf(Date)
  })

  it('have a lower priority than handlers registered in code', async () => {
    const handlersFile = await moduleOf(`export const write = () => { throw new Error('the module') }`)
    const { queue, enqueue } = await setup({ options: { handlersFile } })
    queue.handle('write', () => {})
    expect((await queue.replay((await enqueue('a')).dlqId)).status).toBe('completed')
  })

  it('change with the option', async () => {
    const { queue, enqueue, live } = await setup()
    const { dlqId } = await enqueue('a')
    expect((await queue.replay(dlqId)).status).toBe('pending')
    live.options = { ...live.options, handlersFile: await moduleOf('export const write = () => {}') }
    expect((await queue.replay(dlqId)).status).toBe('completed')
  })

  it.each([
    ['does not exist', undefined, 'cannot be loaded'],
    ['throws', `throw new Error('oops')`, 'cannot be loaded: oops'],
    ['has a default export that is not an object', 'export default 7', 'to be an object of handlers'],
    ['has a handler that is not a function', 'export default { write: 7 }', 'write in'],
  ])('cause a clear error if the module %s, and the entry is not lost', async (_, code, said) => {
    const handlersFile = code === undefined ? '/nowhere/handlers.mjs' : await moduleOf(code)
    const { queue, enqueue } = await setup({ options: { handlersFile } })
    const opened = await refusal(queue.open())
    expect(opened).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining(said) })
    const { dlqId } = await enqueue('a')
    expect((await refusal(queue.replay(dlqId))).code).toBe('CONFIG_INVALID')
    expect((await queue.get(dlqId))?.status).toBe('pending')
  })
})

describe('a replay handler', () => {
  it('requires an operation and a function', async () => {
    const { queue } = await setup()
    expect(() => queue.handle('', 7 as never)).toThrow(
      /operation: expected a string that is not empty, got "".*handler: expected a function, got 7/,
    )
  })

  it('replaces an earlier one of the operation', async () => {
    const { queue, enqueue } = await setup()
    queue.handle('write', () => {
      throw new Error('the first')
    })
    queue.handle('write', () => {})
    expect((await queue.replay((await enqueue('a')).dlqId)).status).toBe('completed')
  })
})
