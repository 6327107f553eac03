// The exports of every public entry, read from the type declarations that the packages ship.
import { join, relative } from 'node:path'
import ts from 'typescript'
import { packages, root } from '../packages.mjs'
import { sortTypeMembers } from '../stable-types.mjs'
import { NO_DOC, parseDocComment } from './doc-comment.mjs'

/** @typedef {import('./doc-comment.mjs').Doc} Doc */

/**
 * @typedef {object} Parameter
 * @property {string} name
 * @property {string} description
 */

/**
 * @typedef {object} Member a property or a method of an interface, class or object type
 * @property {string} name
 * @property {boolean} isMethod
 * @property {boolean} isOptional
 * @property {boolean} isStatic
 * @property {string} text the type of a property, or the signature of a method
 * @property {Doc} doc
 */

/**
 * @typedef {'function' | 'class' | 'const' | 'interface' | 'type'} Kind
 */

/**
 * @typedef {object} Export
 * @property {string} name
 * @property {Kind} kind
 * @property {string} source the file that declares it, from the root of the repository
 * @property {string} entry the entry that documents it: the first that exports it, in the package that declares it
 * @property {string[]} signatures
 * @property {Doc} doc
 * @property {Member[]} members
 * @property {boolean} isComputed whether its members are computed from another type, which has no comments
 * @property {string[]} inherits exported interfaces and classes whose members it has too
 * @property {boolean} isTypeOnly whether only the type of a value is exported
 * @property {string} [propertyOf] the property whose type it is, where it has no exported name
 */

/** @typedef {{ id: string, about: string, exports: Export[] }} Entry */

/**
 * Entries without a page: parts for other Holdfast packages, code that workers run, and the API of other libraries, which their
 * own documentation describes.
 */
const isPrivate = (/** @type {string} */ id) =>
  /\/(internal|worker)$/.test(id) || id.startsWith('@holdfast/compat/')

/** Packages in the order of their imports, so that the first one that exports a symbol declares it. */
const ORDER = [
  'holdfast',
  'records',
  'store',
  'config',
  'fleet',
  'runtime',
  'proxy',
  'adapters',
  'nestjs',
  'server',
]
const rank = (/** @type {string} */ name) => ORDER.indexOf(name.replace('@holdfast/', ''))

/** The class whose properties are services. Their types have no exported name, and are documented on its page. */
const CONTAINER = { entry: '@holdfast/runtime', name: 'Holdfast' }

/** A string type with more characters is printed without its type arguments. */
const MAX_TYPE_LENGTH = 400

/** A union with more characters has one member in each line. */
const MAX_LINE_LENGTH = 110

/**
 * Writes strings with single quotes and sorts the members of unions of strings, because both differ between compilers and
 * builds where a type is inferred.
 *
 * @param {string} text
 */
const tidyType = (text) =>
  sortTypeMembers(text)
    .replace(/"([^"'\\\n]*)"/g, "'$1'")
    .replace(/'[\w./ -]*'(?: \| '[\w./ -]*')+/g, (union) => union.split(' | ').sort().join(' | '))

const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope

/** The exports of all public entries. @returns {Entry[]} */
export function readApi() {
  const published = packages()
    .filter((one) => !one.private && one.entries.length > 0)
    .sort((a, b) => rank(a.name) - rank(b.name))
  return readExports(published.flatMap(({ entries }) => entries).filter(({ id }) => !isPrivate(id)))
}

/** @param {readonly { id: string, types: string }[]} entries @returns {Entry[]} */
export function readExports(entries) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.base.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const program = ts.createProgram(
    entries.map(({ types }) => types),
    { ...options, types: ['node'], noEmit: true },
  )
  const checker = program.getTypeChecker()

  const resolve = (/** @type {ts.Symbol} */ symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
  const found = entries.map(({ id, types }) => {
    const file = program.getSourceFile(types)
    const module = file && checker.getSymbolAtLocation(file)
    if (file === undefined || module === undefined)
      throw new Error(`${relative(root, types)} is missing or exports nothing: npm run build`)
    const symbols = checker.getExportsOfModule(module).map((symbol) => ({
      name: symbol.name,
      symbol: resolve(symbol),
      isTypeOnly:
        symbol.declarations?.some(
          (node) => ts.isExportSpecifier(node) && (node.isTypeOnly || node.parent.parent.isTypeOnly),
        ) === true,
    }))
    // Exports for other packages of the project are marked as internal.
    const isInternal = (/** @type {{ symbol: ts.Symbol }} */ { symbol }) =>
      symbol.declarations?.some((node) => docOf(node).isInternal) === true
    return { id, about: packageComment(file), symbols: symbols.filter((one) => !isInternal(one)) }
  })
  const all = new Set(found.flatMap(({ symbols }) => symbols.map(({ symbol }) => symbol)))
  const read = createReader(checker, all)
  /** @type {Map<ts.Symbol, string>} */
  const homes = new Map()
  for (const { id, symbols } of found)
    for (const { symbol } of symbols) if (!homes.has(symbol)) homes.set(symbol, id)
  return found.map(({ id, about, symbols }) => {
    const exports = symbols.map(({ name, symbol, isTypeOnly }) => ({
      ...read(name, symbol),
      entry: homes.get(symbol) ?? id,
      isTypeOnly,
    }))
    const container = symbols.find(({ name }) => id === CONTAINER.entry && name === CONTAINER.name)
    const services =
      container === undefined
        ? []
        : servicesOf(checker, container.symbol)
            .filter(({ symbol }) => !all.has(symbol))
            .map(({ symbol, property }) => ({
              ...read(symbol.name, symbol),
              entry: id,
              isTypeOnly: false,
              propertyOf: `${CONTAINER.name}.${property}`,
            }))
    return { id, about, exports: [...exports, ...services] }
  })
}

/** The classes and interfaces that are the types of a class's properties. @param {ts.TypeChecker} checker @param {ts.Symbol} symbol */
function servicesOf(checker, symbol) {
  const properties = checker.getDeclaredTypeOfSymbol(symbol).getProperties()
  /** @type {Map<ts.Symbol, string>} */
  const services = new Map()
  for (const property of properties) {
    const type = checker.getTypeOfSymbol(property)
    for (const part of type.isIntersection() ? type.types : [type]) {
      const own = part.getSymbol()
      const [declaration] = own?.declarations ?? []
      const isService =
        declaration !== undefined &&
        (ts.isClassDeclaration(declaration) || ts.isInterfaceDeclaration(declaration)) &&
        declaration.getSourceFile().fileName.includes('/packages/')
      if (own !== undefined && isService && !services.has(own)) services.set(own, property.name)
    }
  }
  return [...services].map(([own, property]) => ({ symbol: own, property }))
}

/** @param {ts.SourceFile} file the sentence about an entry: its comment with `@packageDocumentation` */
function packageComment(file) {
  const comments = file.text.match(/\/\*\*[\s\S]*?\*\//g) ?? []
  const comment = comments.find((text) => text.includes('@packageDocumentation'))
  return comment === undefined ? '' : parseDocComment(comment).summary
}

/** @param {ts.Declaration} node */
function docOf(node) {
  const holder = ts.isVariableDeclaration(node) ? node.parent.parent : node
  const { text } = node.getSourceFile()
  const comments = (ts.getLeadingCommentRanges(text, holder.pos) ?? [])
    .map(({ pos, end }) => text.slice(pos, end))
    .filter((comment) => comment.startsWith('/**'))
  const last = comments.at(-1)
  return last === undefined ? NO_DOC : parseDocComment(last)
}

const printer = ts.createPrinter({ removeComments: true })

/** @param {ts.Node} node */
function print(node) {
  const text = printer
    .printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
    .replace(/^export (default )?/, '')
    .replace(/^declare /, '')
    .replace(/;$/, '')
    .replace(/^( {4})+/gm, (spaces) => ' '.repeat(spaces.length / 2))
  return tidyType(text)
}

/** @param {string} text */
const toOneLine = (text) => text.replace(/\s*\n\s*/g, ' ').replace(/; \}/g, ' }')

/**
 * @param {ts.TypeChecker} checker
 * @param {ReadonlySet<ts.Symbol>} exported every exported symbol
 */
function createReader(checker, exported) {
  /** The text of each exported object type that is computed from another; where it is part of a type, its name is shown. */
  const records = [...exported].flatMap((symbol) => {
    const [node] = symbol.declarations ?? []
    if (node === undefined || !ts.isTypeAliasDeclaration(node) || node.typeParameters !== undefined) return []
    const type = checker.getDeclaredTypeOfSymbol(symbol)
    if (!ts.isTypeReferenceNode(node.type) || !isObject(type)) return []
    const flags = FORMAT | ts.TypeFormatFlags.InTypeAlias
    return [/** @type {const} */ ([symbol.name, tidyType(checker.typeToString(type, node, flags))])]
  })
  // A type that contains another one comes first.
  records.sort(([, a], [, b]) => b.length - a.length)

  /** @param {string} name @param {ts.Symbol} symbol @returns {Omit<Export, 'entry' | 'isTypeOnly'>} */
  return function read(name, symbol) {
    const declarations = symbol.declarations ?? []
    const [first] = declarations
    if (first === undefined) throw new Error(`${name} has no declaration`)
    const docs = declarations.map(docOf)
    const source = relative(root, first.getSourceFile().fileName)
      .replace('/dist/', '/src/')
      .replace(/\.d\.ts$/, '.ts')
    const base = {
      name,
      source,
      doc: docs.find(({ summary }) => summary !== '') ?? NO_DOC,
      members: /** @type {Member[]} */ ([]),
      inherits: /** @type {string[]} */ ([]),
      isComputed: false,
    }
    if (ts.isFunctionDeclaration(first))
      return { ...base, kind: 'function', signatures: declarations.map((node) => print(node)) }
    if (ts.isVariableDeclaration(first)) {
      const isFunction = first.type !== undefined && ts.isFunctionTypeNode(first.type)
      return {
        ...base,
        kind: isFunction ? 'function' : 'const',
        signatures: [`const ${variableText(first)}`],
      }
    }
    if (ts.isInterfaceDeclaration(first) || ts.isClassDeclaration(first)) {
      const kind = ts.isClassDeclaration(first) ? 'class' : 'interface'
      return { ...base, kind, signatures: [headOf(first)], ...membersOf(symbol, first) }
    }
    if (ts.isTypeAliasDeclaration(first)) {
      const isLiteral = ts.isTypeLiteralNode(first.type)
      const type = checker.getDeclaredTypeOfSymbol(symbol)
      const isComputed = isLiteral || (ts.isTypeReferenceNode(first.type) && isObject(type))
      const members = isComputed && first.typeParameters === undefined ? propertiesOf(type, first) : []
      const signatures = [isLiteral ? '' : aliasText(first)]
      return { ...base, kind: 'type', signatures, members, isComputed: !isLiteral }
    }
    throw new Error(`${name} is a ${ts.SyntaxKind[first.kind]}, which the reference does not know`)
  }

  /** An alias. The members of a union keep their order, and a long one has one member in each line. @param {ts.TypeAliasDeclaration} node */
  function aliasText(node) {
    if (!ts.isUnionTypeNode(node.type)) return print(node)
    const types = node.type.types.map((one) => print(one))
    const parameters = node.typeParameters?.map((one) => print(one)).join(', ')
    const head = `type ${node.name.text}${parameters === undefined ? '' : `<${parameters}>`} =`
    const line = `${head} ${types.join(' | ')}`
    if (line.length <= MAX_LINE_LENGTH && !line.includes('\n')) return line
    return [head, ...types.map((one) => `  | ${one.replaceAll('\n', '\n    ')}`)].join('\n')
  }

  /** @param {ts.VariableDeclaration} node */
  function variableText(node) {
    const text = node.type === undefined ? node.getText() : `${node.name.getText()}: ${print(node.type)}`
    if (text.length <= MAX_TYPE_LENGTH || node.type === undefined) return text
    const name = node.type.getText().match(/^(?:import\("[^"]*"\)\.)?([\w.]+)/)?.[1] ?? 'object'
    return `${node.name.getText()}: ${name}<…>`
  }

  /** @param {ts.Type} type */
  function isObject(type) {
    return (
      (type.flags & ts.TypeFlags.Object) !== 0 &&
      type.getCallSignatures().length === 0 &&
      !checker.isArrayType(type) &&
      type.getProperties().length > 0
    )
  }

  /** The first line of an interface or class. @param {ts.InterfaceDeclaration | ts.ClassDeclaration} node */
  function headOf(node) {
    const word = ts.isClassDeclaration(node) ? 'class' : 'interface'
    const parameters = node.typeParameters?.map((one) => print(one)).join(', ')
    const clauses = node.heritageClauses?.map((one) => ` ${print(one).trim()}`).join('') ?? ''
    return `${word} ${node.name?.text}${parameters === undefined ? '' : `<${parameters}>`}${clauses}`
  }

  /** @param {ts.Symbol} symbol @param {ts.InterfaceDeclaration | ts.ClassDeclaration} node */
  function membersOf(symbol, node) {
    const type = checker.getDeclaredTypeOfSymbol(symbol)
    /** @type {Set<string>} */
    const inherits = new Set()
    const instance = type.getProperties().flatMap((property) => {
      const [declaration] = property.declarations ?? []
      if (declaration === undefined) return []
      const owner = checker.getSymbolAtLocation(
        /** @type {{ name?: ts.Node }} */ (/** @type {unknown} */ (declaration.parent)).name ?? declaration,
      )
      if (owner !== undefined && owner !== symbol && exported.has(owner)) inherits.add(owner.name)
      if (owner !== symbol && (owner === undefined || exported.has(owner) || isForeign(declaration)))
        return []
      return memberOf(property, false)
    })
    // Call and index signatures have no name.
    const signatures = [...node.members]
      .filter((one) => ts.isCallSignatureDeclaration(one) || ts.isIndexSignatureDeclaration(one))
      .map((one) => ({
        name: '',
        isMethod: true,
        isOptional: false,
        isStatic: false,
        text: print(one),
        doc: docOf(one),
      }))
    const constructors = ts.isClassDeclaration(node)
      ? node.members.filter(ts.isConstructorDeclaration).flatMap((one) => {
          const doc = docOf(one)
          if (doc.isInternal || isHidden(one)) return []
          const text = print(one).replace(/^constructor/, `new ${node.name?.text}`)
          return { name: 'constructor', isMethod: true, isOptional: false, isStatic: true, text, doc }
        })
      : []
    const statics = ts.isClassDeclaration(node)
      ? checker
          .getPropertiesOfType(checker.getTypeOfSymbolAtLocation(symbol, node))
          .filter(({ name, declarations }) => name !== 'prototype' && declarations?.[0]?.parent === node)
          .flatMap((property) => memberOf(property, true))
      : []
    return { members: [...constructors, ...signatures, ...statics, ...instance], inherits: [...inherits] }
  }

  /** Whether a declaration belongs to another package, such as the Error of the language. @param {ts.Declaration} node */
  function isForeign(node) {
    return node.getSourceFile().fileName.includes('/node_modules/')
  }

  /** @param {ts.Declaration} node */
  function isHidden(node) {
    const flags = ts.getCombinedModifierFlags(node)
    return (flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0
  }

  /** The members that a member of a class implements; it has their comment where it has none. @param {ts.Declaration} node @param {string} name */
  function implementedBy(node, name) {
    const owner = node.parent
    if (!ts.isClassDeclaration(owner)) return []
    return (owner.heritageClauses ?? [])
      .flatMap(({ types }) => [...types])
      .flatMap((one) => checker.getTypeAtLocation(one).getProperty(name)?.declarations ?? [])
  }

  /** The type of a property, without the undefined that every optional property has. @param {string} text @param {ts.Symbol} property */
  function propertyText(text, property) {
    const line = toOneLine(text)
    return property.flags & ts.SymbolFlags.Optional ? line.replace(/ \| undefined$/, '') : line
  }

  /** @param {ts.Symbol} property @param {boolean} isStatic @returns {Member[]} */
  function memberOf(property, isStatic) {
    const declarations = (property.declarations ?? []).filter((node) => !isHidden(node))
    const [first] = declarations
    // Symbols such as util.inspect.custom are for the platform.
    if (first === undefined || /^(__@|__#|#)/.test(property.name)) return []
    const docs = [...declarations, ...implementedBy(first, property.name)].map(docOf)
    if (docs.some(({ isInternal }) => isInternal)) return []
    const isMethod = ts.isMethodSignature(first) || ts.isMethodDeclaration(first)
    const type =
      ts.isPropertySignature(first) || ts.isPropertyDeclaration(first) || ts.isGetAccessorDeclaration(first)
        ? first.type
        : undefined
    const text = isMethod
      ? declarations.map((node) => print(node)).join('\n')
      : propertyText(type === undefined ? typeText(property, first) : print(type), property)
    return [
      {
        name: property.name,
        isMethod,
        isOptional: (property.flags & ts.SymbolFlags.Optional) !== 0,
        isStatic,
        text,
        doc: docs.find(({ summary }) => summary !== '') ?? NO_DOC,
      },
    ]
  }

  /** The properties of an object type that is computed from another. @param {ts.Type} type @param {ts.Node} at */
  function propertiesOf(type, at) {
    return type.getProperties().flatMap((property) => {
      const [declaration] = property.declarations ?? []
      if (declaration !== undefined && declaration.parent.parent === at) return memberOf(property, false)
      const doc = declaration === undefined || isForeign(declaration) ? NO_DOC : docOf(declaration)
      return {
        name: property.name,
        isMethod: false,
        isOptional: (property.flags & ts.SymbolFlags.Optional) !== 0,
        isStatic: false,
        text: propertyText(typeText(property, at), property),
        doc,
      }
    })
  }

  /** @param {ts.Symbol} property @param {ts.Node} at */
  function typeText(property, at) {
    const type = checker.getTypeOfSymbolAtLocation(property, at)
    let text = tidyType(checker.typeToString(type, at, FORMAT))
    for (const [name, expanded] of records) text = text.replaceAll(expanded, name)
    return text
  }
}
