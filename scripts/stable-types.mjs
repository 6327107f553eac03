/**
 * Sorts what the compiler prints in another order after every build: the members of a union of strings whose type is inferred,
 * which have double quotes, and those of an enum of zod.
 *
 * @param {string} text
 */
export function sortTypeMembers(text) {
  return text
    .replace(/ZodEnum<\{\n([\s\S]*?)\n(\s*)\}>/g, (_, members, indent) => {
      const lines = members.split('\n').sort()
      return `ZodEnum<{\n${lines.join('\n')}\n${indent}}>`
    })
    .replace(/"[\w./ -]*"(?: \| "[\w./ -]*")+/g, (union) => union.split(' | ').sort().join(' | '))
}
