import { isHoldfastError } from 'holdfast'
import { holdfast } from '../../../lib/holdfast.js'

export const dynamic = 'force-dynamic'

export async function GET() {
  const hf = await holdfast()
  let calls = 0
  const value = await hf.run('orders', async () => {
    if (++calls < 2) throw new Error('connection lost')
    return 'saved'
  })
  const { items } = await hf.sessions.list()
  const error = await hf.run('orders', () => 1, { service: 'unknown' }).catch((reason) => reason)
  return Response.json({
    value,
    calls,
    store: hf.store.kind,
    operations: [...new Set(items.map(({ operation }) => operation))],
    isOwnError: isHoldfastError(error, 'INVALID_OPTIONS'),
  })
}
