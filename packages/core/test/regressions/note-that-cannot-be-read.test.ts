// A note with a getter that throws, or a Proxy that does, failed the attempt that made it.
import { expect, it, vi } from 'vitest'
import { guard, sessionOf } from '../../src/index.js'

const unreadable = {
  'a getter that throws': () => ({
    get fact() {
      throw new Error('no')
    },
  }),
  'a proxy that throws': () =>
    new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    ),
}

it.each(Object.entries(unreadable))('a note that is %s is ignored and reported', async (_, make) => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => {})
  try {
    const api = guard({ retry: false, timeout: { attempt: 1000 } })
    expect(await api.run(({ note }) => (note(make()), 'fine'))).toBe('fine')
    const error = await api
      .run(({ note }) => {
        note({ before: 1 })
        note(make())
        note({ after: 2 })
        throw new Error('down')
      })
      .catch((thrown) => thrown)
    expect(sessionOf(error)?.attempts[0]?.context).toEqual({ before: 1, after: 2 })
    expect(said).toHaveBeenCalledTimes(2)
  } finally {
    said.mockRestore()
  }
})
