import type { ErrorLike } from './classification.js'

/**
 * Server not reached, a timeout of the server or of an operation, connection closed; timeout of the pool or of a transaction,
 * write conflict or deadlock.
 */
const TRANSIENT_CODE = /^P(10(01|02|08|17)|20(24|28|34))$/

/**
 * Whether an error of Prisma is transient, by its code, which is in `errorCode` if Prisma could not connect; undefined for any
 * other error. It is not part of `classify`, because each guard would contain it.
 */
export function isTransientPrismaError({ name, code, errorCode }: ErrorLike): boolean | undefined {
  const ownCode = code ?? errorCode
  return `${name}`.startsWith('Prisma') && typeof ownCode === 'string'
    ? TRANSIENT_CODE.test(ownCode)
    : undefined
}
