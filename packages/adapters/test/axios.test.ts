import axios from 'axios'
import { guard, sessionOf } from 'holdfast'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAxiosAdapter } from '../src/axios/index.js'
import { startHttpServer, type TestServer } from './http-server.js'

const immediate = { backoffType: 'immediate', maxAttempts: 3 } as const

describe('createAxiosAdapter', () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startHttpServer()
  })
  afterAll(() => server.close())

  it('retries a GET after a status of 503 until it succeeds', async () => {
    const path = server.script([503, 503, 200])
    const client = axios.create({ adapter: createAxiosAdapter(axios, guard({ retry: immediate })) })
    const { status, config } = await client.get(server.url + path)
    expect(status).toBe(200)
    expect(config.signal).toBeUndefined()
    expect(server.requests(path)).toHaveLength(3)
  })

  it('ends with the error of the last attempt, which has the session', async () => {
    const path = server.script([503, 500, 502])
    const client = axios.create({
      adapter: createAxiosAdapter(axios, guard({ name: 'api', retry: immediate })),
    })
    const error = await client.get(server.url + path).catch((thrown: unknown) => thrown)
    expect(axios.isAxiosError(error) && error.response?.status).toBe(502)
    expect(sessionOf(error)?.attempts.map(({ statusCode }) => statusCode)).toEqual([503, 500, 502])
  })
})
