import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

const filled = (path: string) => path.replace(/\{\w+\}/g, 'x')

describe('a parameter that there is not', () => {
  test('is an error of every operation, before it does anything', async () => {
    const { ask, hf } = await open()
    const { paths } = (await ask('GET', '/openapi.json')).body as { paths: Record<string, object> }
    const operations = Object.entries(paths)
      .filter(([path]) => path.startsWith('/api/v1/'))
      .flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
      )
    expect(operations.length).toBeGreaterThan(35)
    for (const [method, path] of operations) {
      const answer = await ask(method, `${filled(path)}?misspelt=1`, method === 'GET' ? {} : { body: {} })
      expect([method, path, answer.status]).toEqual([method, path, 400])
      expect(answer.body).toMatchObject({
        error: 'BAD_REQUEST',
        message: expect.stringContaining('misspelt'),
      })
    }
    expect((await hf.audit.list({})).items).toEqual([])
  })
})

describe('jobs', () => {
  test('are listed in pages, newest first', async () => {
    const { ask } = await open()
    const started: string[] = []
    for (let i = 0; i < 5; i++)
      started.unshift((await ask('POST', '/api/v1/dead-letters/replay', { body: {} })).body.job_id)
    const seen: string[] = []
    let cursor = ''
    do {
      const { body } = await ask('GET', `/api/v1/jobs?limit=2${cursor}`)
      expect(body.items.length).toBeLessThanOrEqual(2)
      seen.push(...body.items.map(({ job_id }: { job_id: string }) => job_id))
      cursor = body.cursor === undefined ? '' : `&cursor=${body.cursor}`
    } while (cursor !== '')
    expect(seen).toEqual(started)
    expect(await ask('GET', '/api/v1/jobs?cursor=x')).toMatchObject({ status: 400 })
  })
})
