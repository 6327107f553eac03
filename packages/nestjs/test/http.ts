import type { INestApplication, ModuleMetadata } from '@nestjs/common'
import { Test } from '@nestjs/testing'
import { onTestFinished } from 'vitest'

/** Starts an application on a free port; it is closed when the test ends. */
export async function start(
  metadata: ModuleMetadata,
  configure?: (app: INestApplication) => void,
): Promise<{ app: INestApplication; url: string }> {
  const compiled = await Test.createTestingModule(metadata).compile()
  const app = compiled.createNestApplication()
  app.useLogger(false)
  onTestFinished(() => app.close())
  configure?.(app)
  await app.listen(0, '127.0.0.1')
  return { app, url: await app.getUrl() }
}

/** The status, the header Retry-After and the body of a response. */
export async function get(
  url: string,
  init?: RequestInit,
): Promise<{ status: number; retryAfter: string | null; body: unknown }> {
  const response = await fetch(url, init)
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.includes('json')
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: isJson ? JSON.parse(text) : text,
  }
}

/** A promise with the function that resolves it. */
export function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
