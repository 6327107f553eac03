import { describe, expect, test } from 'vitest'
import { open } from '../fixture.js'

const PATH = '/api/v1/policies'

describe('PUT of a policy', () => {
  test('replaces an earlier PUT, and missing values come from the file and the defaults', async () => {
    const { ask } = await open()
    await ask('PUT', `${PATH}/mapped`, { body: { max_attempts: 7, base_delay: 20 } })
    const second = await ask('PUT', `${PATH}/mapped`, { body: { max_delay: 10 } })
    expect(second).toMatchObject({
      status: 200,
      body: { name: 'Mapped', max_attempts: 2, base_delay: 0.01, max_delay: 10 },
    })
  })

  test('checks the resulting values in the units of the wire, and changes nothing if they conflict', async () => {
    const { ask } = await open()
    const whole = { base_delay: 50, max_delay: 100 }
    expect(await ask('PUT', `${PATH}/quick`, { body: whole })).toMatchObject({ status: 200, body: whole })
    const conflict = /(?=.*\b30\b)(?=.*base_delay)(?=.*\b40\b)/
    expect(await ask('PUT', `${PATH}/quick`, { body: { base_delay: 40 } })).toMatchObject({
      status: 400,
      body: {
        message: expect.stringMatching(conflict),
        details: [{ in: 'body', path: 'max_delay', message: expect.stringMatching(conflict) }],
      },
    })
    expect((await ask('GET', `${PATH}/quick`)).body).toMatchObject(whole)
    const jitter = await ask('PUT', `${PATH}/quick`, { body: { jitter_min: 1.5 } })
    expect(jitter).toMatchObject({
      status: 400,
      body: { details: [{ path: 'jitter_max', message: expect.stringMatching(/jitter_min.*1\.5/) }] },
    })
  })

  test('with a new name does not inherit from the default policy', async () => {
    const { ask } = await open()
    await ask('PUT', `${PATH}/default`, { body: { base_delay: 20, max_delay: 300 } })
    expect(await ask('PUT', `${PATH}/fresh`, { body: { max_delay: 10 } })).toMatchObject({
      status: 200,
      body: { base_delay: 1, max_delay: 10 },
    })
    expect(await ask('PUT', `${PATH}/other`, { body: { base_delay: 100 } })).toMatchObject({
      status: 400,
      body: {
        details: [{ path: 'max_delay', message: expect.stringMatching(/30.*base_delay|base_delay.*30/) }],
      },
    })
    expect((await ask('GET', `${PATH}/other`)).status).toBe(404)
  })

  test('accepts the response of a GET', async () => {
    const { ask } = await open()
    for (const path of [`${PATH}/mapped`, '/api/v1/retry/policy']) {
      const { body } = await ask('GET', path)
      expect(await ask('PUT', path, { body })).toMatchObject({ status: 200, body })
    }
    await ask('PUT', `${PATH}/default`, { body: { max_attempts: 20, jitter_type: 'full' } })
    const { body } = await ask('GET', '/api/v1/retry/policy')
    expect(body.approximate).toBe(true)
    const { approximate: _, ...exact } = body
    const back = await ask('PUT', '/api/v1/retry/policy', { body })
    expect(back).toMatchObject({ status: 200, body: { ...exact, updated_at: expect.any(String) } })
    expect(back.body.approximate).toBeUndefined()
  })
})
