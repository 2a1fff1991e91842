<?php

/**
 * Signs requests to the payment gateway. One file, no dependency, PHP 8.0 or newer: copy it into your project.
 *
 *     $headers = Gateway\signedHeaders($key, 'POST', 'https://api.gateway.example/v1/payouts', $body);
 *
 * $key is what `gateway key issue --json` prints: app_id, key_id, api_key, signing_secret. Sign the exact bytes that you send:
 * serialize the body once, sign that string, send that string.
 */

declare(strict_types=1);

namespace Gateway;

/** The four headers of one request, by name. Call it again for each attempt: a nonce is taken once, a timestamp lasts two minutes. */
function signedHeaders(array $key, string $method, string $url, string $body = ''): array
{
    if (!preg_match('~^https?://([^/?#@]+)([^?#]*)(\?[^#]*)?~i', $url, $parts)) {
        throw new \InvalidArgumentException("$url is not an http address");
    }
    $request = [
        'method' => $method,
        'host' => $parts[1],
        'target' => ($parts[2] === '' ? '/' : $parts[2]) . ($parts[3] ?? ''),
        'timestamp' => (string) time(),
        'nonce' => bin2hex(random_bytes(16)),
        'body' => $body,
    ];
    return [
        'X-Gateway-Key' => "{$key['app_id']}.{$key['key_id']}.{$key['api_key']}",
        'X-Gateway-Timestamp' => $request['timestamp'],
        'X-Gateway-Nonce' => $request['nonce'],
        'X-Gateway-Signature' => signature($key, $request),
    ];
}

/** The value of X-Gateway-Signature. */
function signature(array $key, array $request): string
{
    return 'v1=' . hash_hmac('sha256', stringToSign($key, $request), $key['signing_secret']);
}

/** Ten fields, joined by newlines, with none at the end. Print it when a signature is refused. */
function stringToSign(array $key, array $request): string
{
    $method = strtoupper($request['method']);
    [$path, $query] = explode('?', $request['target'], 2) + [1 => ''];
    $body = in_array($method, ['GET', 'DELETE'], true) ? '' : $request['body'];
    return implode("\n", [
        'v1',
        $key['app_id'],
        $key['key_id'],
        strtolower($request['host']),
        $method,
        $path,
        canonicalQuery($query),
        $request['timestamp'],
        $request['nonce'],
        hash('sha256', $body),
    ]);
}

/** Each name and value decoded and encoded again, sorted by name and then by value. A "+" is a plus and not a space. */
function canonicalQuery(string $query): string
{
    $pairs = [];
    foreach (explode('&', $query) as $part) {
        if ($part !== '') {
            [$name, $value] = explode('=', $part, 2) + [1 => ''];
            $pairs[] = [reencoded($name), reencoded($value)];
        }
    }
    // strcmp, because PHP's own comparison takes texts of digits for numbers.
    usort($pairs, fn (array $a, array $b) => strcmp($a[0], $b[0]) ?: strcmp($a[1], $b[1]));
    return implode('&', array_map(fn (array $pair) => "$pair[0]=$pair[1]", $pairs));
}

function reencoded(string $text): string
{
    $decoded = rawurldecode($text);
    if (preg_match('/%(?![0-9A-Fa-f]{2})/', $text) || !preg_match('//u', $decoded)) {
        throw new \InvalidArgumentException("$text has a bad percent escape");
    }
    return rawurlencode($decoded);
}

// Run as a program: one request a line as JSON on standard input, one signature a line on standard output.
if (PHP_SAPI === 'cli' && realpath($_SERVER['SCRIPT_FILENAME']) === __FILE__) {
    while (($line = fgets(STDIN)) !== false) {
        if (trim($line) !== '') {
            $given = json_decode($line, true, 8, JSON_THROW_ON_ERROR);
            $given['body'] = base64_decode($given['body_base64'] ?? '', true);
            echo signature($given, $given), "\n";
        }
    }
}
