# SPDX-License-Identifier: Apache-2.0
# Homebrew's formula
class Stepsim < Formula
  desc "Predicts iteration time and memory of LLM training on GPU clusters"
  homepage "https://example.org/stepsim"
  url "https://example.org/stepsim-0.3.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "cminpack"
  depends_on "hwloc"
  depends_on "jansson"
  depends_on "libmicrohttpd"
  depends_on "libxml2"
  depends_on "libyaml"
  depends_on :linux
  depends_on "python@3.13"
  depends_on "zlib"

  def install
    args = %W[
      -DSS_SIMGRID=OFF
      -DSS_MPI=OFF
      -DSS_TESTS=OFF
      -DSS_PROBE=OFF
      -DSS_PYTHON_DIR=#{Language::Python.site_packages("python3.13")}
    ]
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", *args, *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    system bin/"stepsim", "doctor"
    assert_match "an iteration", shell_output("#{bin}/stepsim run --job 8b-16 --brief")
  end
end
